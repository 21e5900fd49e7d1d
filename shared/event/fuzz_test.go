package event_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/event"
)

// FuzzEvent decodes an event as the runtime library does. Whatever it holds,
// the adapter answers with a status, and a handler sees only what keeps the
// package's promises.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"httpMethod":"POST","path":"/v1/mcp","headers":{"Host":"a"},"multiValueHeaders":{"host":["a"]},"body":"{}"}`))
	f.Add([]byte(`{"httpMethod":"POST","path":"/a%2fb","body":"e30=","isBase64Encoded":true,"queryStringParameters":{"a":"b"}}`))
	f.Add([]byte(`{"httpMethod":"GET","path":"/%","multiValueHeaders":{"X_Y":["1"],"accept":["a","b"]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e events.APIGatewayProxyRequest
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		got, status, reply := deliver(t, e)
		if status < 200 || status > 599 {
			t.Fatalf("status %d", status)
		}
		if got == nil {
			if status < 400 || !json.Valid([]byte(reply)) {
				t.Fatalf("refused with %d %q", status, reply)
			}
			return
		}
		checkSeen(t, e, got)
	})
}

func checkSeen(t *testing.T, e events.APIGatewayProxyRequest, got *seen) {
	want := e.Body
	if e.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			t.Fatalf("undecodable base64 was served: %v", err)
		}
		want = string(decoded)
	}
	if got.Body != want || int64(len(want)) != got.Length || len(want) > event.MaxBody {
		t.Fatalf("got body %q of length %d, want %q", got.Body, got.Length, want)
	}
	if !strings.HasPrefix(got.Path, "/") || strings.ContainsAny(got.URI, " \r\n\x00") {
		t.Fatalf("got path %q, target %q", got.Path, got.URI)
	}
	for name, values := range got.Header {
		if strings.ContainsAny(name, "_ :\r\n") || name != http.CanonicalHeaderKey(name) {
			t.Fatalf("got header name %q", name)
		}
		if name == "Authorization" && len(values) != 1 {
			t.Fatalf("got credentials %q", values)
		}
		for _, value := range values {
			if strings.ContainsAny(value, "\r\n\x00") {
				t.Fatalf("got header value %q", value)
			}
		}
	}
}

package event_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/event"
)

// post is an event as API Gateway makes it from a plain POST.
func post(path, body string, header map[string][]string) events.APIGatewayProxyRequest {
	last := map[string]string{}
	for name, values := range header {
		last[name] = values[len(values)-1]
	}
	return events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: path, Body: body, Headers: last, MultiValueHeaders: header}
}

// seen is what a handler saw of a request.
type seen struct {
	Method, URI, Path, Host, Remote, Body string
	Length                                int64
	Header                                http.Header
}

// deliver runs one event through the adapter; got is nil when no handler saw it.
func deliver(t testing.TB, e events.APIGatewayProxyRequest) (got *seen, status int, reply string) {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the body: %v", err)
		}
		got = &seen{r.Method, r.RequestURI, r.URL.Path, r.Host, r.RemoteAddr, string(body), r.ContentLength, r.Header}
	})
	out, err := event.Handler(h, event.Options{})(context.Background(), e)
	if err != nil {
		t.Fatalf("the adapter failed: %v", err)
	}
	text, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatalf("reading the reply: %v", err)
	}
	if err := out.Close(); err != nil {
		t.Errorf("closing the reply: %v", err)
	}
	return got, out.StatusCode, string(text)
}

func TestAnEventBecomesTheRequestThatTheClientSent(t *testing.T) {
	e := post("/v1/servers/docs/mcp", `{"n":9007199254740993}`, map[string][]string{
		"Host": {"relay.example.com"}, "content-type": {"application/json"}, "Accept": {"application/json", "text/event-stream"},
		"Content-Length": {"22"}, "Connection": {"keep-alive"}, "Transfer-Encoding": {"chunked"},
	})
	e.MultiValueQueryStringParameters = map[string][]string{"q": {"a b", "<&>"}}
	e.QueryStringParameters = map[string]string{"q": "<&>", "only": "one"}
	e.RequestContext.Identity.SourceIP = "192.0.2.7"
	got, status, _ := deliver(t, e)
	want := &seen{
		Method: "POST", URI: "/v1/servers/docs/mcp?only=one&q=a+b&q=%3C%26%3E", Path: "/v1/servers/docs/mcp",
		Host: "relay.example.com", Remote: "192.0.2.7:0", Body: `{"n":9007199254740993}`, Length: 22,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json", "text/event-stream"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || status != 200 {
		t.Errorf("got status %d, want 200; request (-want +got):\n%s", status, diff)
	}
}

func TestBodyBytesAreExact(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, test := range map[string]struct {
		body    string
		encoded bool
		want    string
	}{
		"text":                             {"{\"a\": 1e2,\r\n\t\"b\":\"\u2028<&>\"}", false, "{\"a\": 1e2,\r\n\t\"b\":\"\u2028<&>\"}"},
		"text that looks like base64":      {"eyJhIjoxfQ==", false, "eyJhIjoxfQ=="},
		"base64 of every byte":             {base64.StdEncoding.EncodeToString(every), true, string(every)},
		"empty":                            {"", false, ""},
		"empty base64":                     {"", true, ""},
		"more than the relay itself reads": {strings.Repeat("x", 2<<20), false, strings.Repeat("x", 2<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			e := post("/", test.body, nil)
			e.IsBase64Encoded = test.encoded
			got, status, reply := deliver(t, e)
			if got == nil {
				t.Fatalf("refused with %d %s", status, reply)
			}
			if got.Body != test.want || got.Length != int64(len(test.want)) {
				t.Errorf("got %d bytes, length %d, want %d", len(got.Body), got.Length, len(test.want))
			}
		})
	}
}

func TestPathsAreReadOnce(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/servers/docs/tools/read":      "/v1/servers/docs/tools/read",
		"/v1/servers/docs/tools/a%2Fb":     "/v1/servers/docs/tools/a/b",
		"/v1/servers/docs/tools/50%":       "/v1/servers/docs/tools/50%",
		"/v1/servers/docs/tools/r%C3%A9":   "/v1/servers/docs/tools/ré",
		"/v1/servers/docs/tools/ré":        "/v1/servers/docs/tools/ré",
		"/v1/servers/docs/tools/what?a=b#": "/v1/servers/docs/tools/what?a=b#",
	} {
		got, status, _ := deliver(t, post(path, "", nil))
		if got == nil || got.Path != want {
			t.Errorf("path %q: got %+v with status %d, want %q", path, got, status, want)
		}
	}
}

func TestAPathSegmentWithAnEncodedSlashMatchesOneWildcard(t *testing.T) {
	mux, tool := http.NewServeMux(), ""
	mux.HandleFunc("POST /v1/servers/{server}/tools/{tool}", func(_ http.ResponseWriter, r *http.Request) { tool = r.PathValue("tool") })
	out, _ := event.Handler(mux, event.Options{})(context.Background(), post("/v1/servers/docs/tools/a%2Fb", "", nil))
	if _, err := io.ReadAll(out); err != nil || tool != "a/b" {
		t.Errorf("got tool %q, error %v, want a/b", tool, err)
	}
}

func TestHeadersAreMergedWhateverTheirCase(t *testing.T) {
	e := events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/",
		Headers:           map[string]string{"AUTHORIZATION": "Bearer x", "accept": "text/event-stream", "X-Only": "here"},
		MultiValueHeaders: map[string][]string{"Accept": {"application/json", "text/event-stream"}, "authorization": {"Bearer x"}},
	}
	got, status, _ := deliver(t, e)
	if got == nil {
		t.Fatalf("refused with %d", status)
	}
	want := http.Header{"Accept": {"application/json", "text/event-stream"}, "Authorization": {"Bearer x"}, "X-Only": {"here"}}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestNamesWithAnUnderscoreAreDropped(t *testing.T) {
	got, status, _ := deliver(t, post("/", "", map[string][]string{
		"X_Relay_Run": {"stolen"}, "X-Relay_Turn": {"stolen"}, "Mcp_Method": {"a", "b"}, "X-Relay-Run": {"mine"},
	}))
	if got == nil {
		t.Fatalf("refused with %d", status)
	}
	if diff := cmp.Diff(http.Header{"X-Relay-Run": {"mine"}}, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestWhatIsAmbiguousOrMalformedIsRefused(t *testing.T) {
	header := func(name string, values ...string) events.APIGatewayProxyRequest {
		return post("/", "{}", map[string][]string{name: values})
	}
	encoded := func(body string) events.APIGatewayProxyRequest {
		e := post("/", body, nil)
		e.IsBase64Encoded = true
		return e
	}
	many := map[string][]string{}
	for i := range event.MaxHeaders + 1 {
		many["X-"+strings.Repeat("a", i+1)] = []string{"v"}
	}
	for name, test := range map[string]struct {
		event  events.APIGatewayProxyRequest
		status int
		reason string
	}{
		"two credentials":               {header("Authorization", "Bearer a", "Bearer b"), 400, "bad_request"},
		"the same credential twice":     {header("Authorization", "Bearer a", "Bearer a"), 400, "bad_request"},
		"credentials joined by a comma": {header("Authorization", "Bearer a, Bearer b"), 400, "bad_request"},
		"two content types":             {header("content-type", "application/json", "text/plain"), 400, "bad_request"},
		"two protocol versions":         {header("mcp-protocol-version", "2025-11-25", "2026-07-28"), 400, "bad_request"},
		"joined methods":                {header("MCP-Method", "ping,tools/call"), 400, "bad_request"},
		"two names":                     {header("Mcp-Name", "a", "b"), 400, "bad_request"},
		"two hosts":                     {header("Host", "a.example", "b.example"), 400, "bad_request"},
		"two runs":                      {header("X-Relay-Run", "a", "b"), 400, "bad_request"},
		"one header in two cases": {events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/", MultiValueHeaders: map[string][]string{
			"authorization": {"Bearer a"}, "Authorization": {"Bearer b"}}}, 400, "bad_request"},
		"a line break in a value":  {header("X-Any", "a\r\nAuthorization: Bearer b"), 400, "bad_request"},
		"NUL in a value":           {header("X-Any", "a\x00"), 400, "bad_request"},
		"a space in a name":        {header("X Any", "a"), 400, "bad_request"},
		"an empty name":            {header("", "a"), 400, "bad_request"},
		"base64 that is none":      {encoded("{}"), 400, "bad_request"},
		"base64 without padding":   {encoded("e30"), 400, "bad_request"},
		"base64 with a line break": {encoded("e3\n0="), 400, "bad_request"},
		"base64 with stray bits":   {encoded("e31="), 400, "bad_request"},
		"no method":                {events.APIGatewayProxyRequest{Path: "/"}, 400, "bad_request"},
		"a method with a space":    {events.APIGatewayProxyRequest{HTTPMethod: "GET /", Path: "/"}, 400, "bad_request"},
		"no path":                  {events.APIGatewayProxyRequest{HTTPMethod: "GET"}, 400, "bad_request"},
		"a relative path":          {events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "v1"}, 400, "bad_request"},
		"a line break in the path": {post("/a\r\nb", "", nil), 400, "bad_request"},
		"an encoded NUL":           {post("/a%00b", "", nil), 400, "bad_request"},
		"a path that is not UTF-8": {post("/a%ffb", "", nil), 400, "bad_request"},
		"a body over the bound":    {post("/", strings.Repeat("x", event.MaxBody+1), nil), 413, "too_large"},
		"base64 over the bound":    {encoded(base64.StdEncoding.EncodeToString(make([]byte, event.MaxBody+1))), 413, "too_large"},
		"too many headers":         {post("/", "", many), 413, "too_large"},
		"headers over the bound":   {header("X-Any", strings.Repeat("v", event.MaxHeaderBytes)), 413, "too_large"},
		"a path over the bound":    {post("/"+strings.Repeat("p", event.MaxPath), "", nil), 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			got, status, reply := deliver(t, test.event)
			if got != nil {
				t.Fatalf("a handler saw %+v", got)
			}
			var problem struct{ Reason string }
			if err := json.Unmarshal([]byte(reply), &problem); err != nil {
				t.Fatalf("the reply %q is not JSON: %v", reply, err)
			}
			if status != test.status || problem.Reason != test.reason {
				t.Errorf("got %d %s, want %d %s", status, problem.Reason, test.status, test.reason)
			}
		})
	}
}

func TestTheBoundsThemselvesPass(t *testing.T) {
	full := post("/", base64.StdEncoding.EncodeToString(make([]byte, event.MaxBody)), nil)
	full.IsBase64Encoded = true
	if got, status, _ := deliver(t, full); got == nil || len(got.Body) != event.MaxBody {
		t.Errorf("a body of exactly the bound was refused with %d", status)
	}
	comma := post("/", "", map[string][]string{"Mcp-Name": {"file:///a,b"}, "Accept": {"application/json, text/event-stream"}})
	if got, status, _ := deliver(t, comma); got == nil {
		t.Errorf("a lawful comma was refused with %d", status)
	}
}

func TestRefusalsHaveTheFormOfTheFace(t *testing.T) {
	twice := map[string][]string{"Authorization": {"a", "b"}}
	for path, want := range map[string]string{
		"/v1/servers/docs/mcp": `{"error":{"code":-32600,"data":{"effect":"none","reason":"bad_request","stage":"parse"},` +
			`"message":"parse: the body is not one valid JSON-RPC request"},"id":null,"jsonrpc":"2.0"}`,
		"/v1/servers/docs/tools/search": `{"effect":"none","outcome":"rejected","reason":"bad_request","stage":"parse",` +
			`"status":400,"title":"the body is not one valid JSON-RPC request"}`,
	} {
		if _, status, reply := deliver(t, post(path, "{}", twice)); status != 400 || reply != want+"\n" {
			t.Errorf("%s: got %d %s, want 400 %s", path, status, reply, want)
		}
	}
}

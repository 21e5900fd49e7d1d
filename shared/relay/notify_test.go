package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/kit"
)

func TestNotificationsOfTheCallAreHandedOnMasked(t *testing.T) {
	f := kit.New(t, "", "")
	f.Warm(t)
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"half", "token-one-12345678"} {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"message\":%q}}\n\n", text)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"token-one-12345678\"}}\n\n")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":8}}\n\n")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"content\":[]}}\n\n", body["id"])
	}
	var got []string
	c := kit.Call("look")
	c.Meta = json.RawMessage(`{"progressToken":7}`)
	c.Notify = func(method string, params json.RawMessage) { got = append(got, method+string(params)) }
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Fatal(refusal)
	}
	if diff := cmp.Diff([]string{
		`notifications/progress{"progressToken":7,"message":"half"}`,
		`notifications/progress{"progressToken":7,"message":"[redacted]"}`,
		`notifications/message{"data":"[redacted]"}`,
	}, got); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	if r := f.Recorder.Only(t); r.Notifications != 4 || r.Masked != 2 {
		t.Errorf("%d notifications, %d masked, want 4 and 2", r.Notifications, r.Masked)
	}
}

package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/kit"
)

func TestProgressIsHandedOnMasked(t *testing.T) {
	f := kit.New(t, "", "")
	f.Warm(t)
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"half", "token-one-12345678"} {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"message\":%q}}\n\n", text)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"content\":[]}}\n\n", body["id"])
	}
	var got []string
	c := kit.Call("look")
	c.Notify = func(_ string, params json.RawMessage) { got = append(got, string(params)) }
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Fatal(refusal)
	}
	if diff := cmp.Diff([]string{`{"message":"half"}`, `{"message":"[redacted]"}`}, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if r := f.Recorder.Only(t); r.Notifications != 3 || r.Masked != 1 {
		t.Errorf("%d notifications, %d masked, want 3 and 1", r.Notifications, r.Masked)
	}
}

package relay_test

import (
	"encoding/json"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

// FuzzReadQuestion: whatever is read says in its own letters what it was read
// as, and whatever is not is refused as unreadable.
func FuzzReadQuestion(f *testing.F) {
	f.Add([]byte(`{"subject":"ci","server":"up","tool":"look"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, refusal := relay.ReadQuestion(body)
		if refusal != nil {
			if refusal.Row().Stage != call.StageParse {
				t.Fatalf("refused as %s", refusal.Reason)
			}
			return
		}
		var written map[string]json.RawMessage
		if err := json.Unmarshal(body, &written); err != nil {
			t.Fatalf("read although it is no object: %v", err)
		}
		for name, read := range map[string]string{
			"subject": q.Subject, "server": q.Server, "tool": q.Tool, "resource": q.Resource, "prompt": q.Prompt, "run": q.Run, "kind": string(q.Kind),
		} {
			var said string
			if raw, ok := written[name]; ok && json.Unmarshal(raw, &said) != nil || said != read {
				t.Errorf("%s is %q, read as %q", name, said, read)
			}
		}
		if string(written["arguments"]) != string(q.Arguments) {
			t.Errorf("arguments %s, read as %s", written["arguments"], q.Arguments)
		}
	})
}

package front_test

import (
	"encoding/json"
	"testing"

	"mcprelay/shared/call"
)

func TestATurnIsReadStrictly(t *testing.T) {
	for body, status := range map[string]int{
		`{"mode":"ask","tools":[]}`:                                                201,
		`{"mode":"ask","tools":null,"single_use":true,"lifetime_ms":1000}`:         201,
		`{"Mode":"ask","tools":[]}`:                                                400,
		`{"mode":"ask","Single_Use":true,"tools":[]}`:                              400,
		`{"mode":"ask","mode":"build","tools":[]}`:                                 400,
		`{"mode":"ask","tools":[],"more":1}`:                                       400,
		`{"mode":"ask","tools":[{"Server":"up","tool":"look"}]}`:                   400,
		`{"mode":"ask","tools":[{"server":"up","tool":"look","digest":"","x":1}]}`: 400,
		`{"mode":"ask","tools":[null]}`:                                            400,
		`{"mode":"ask","tools":[],"lifetime_ms":"1"}`:                              400,
	} {
		f, _ := newFront(t, false)
		w := ask(f, "POST", "/v1/turns", body, "Authorization", "Bearer good")
		var problem struct{ Reason call.Reason }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != status {
			t.Errorf("%s: %d, want %d: %s", body, w.Code, status, w.Body)
		}
	}
}

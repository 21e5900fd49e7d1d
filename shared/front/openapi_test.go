package front_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheDocumentIsForAnybodyAndKeptByItsTag(t *testing.T) {
	f, k := newFront(t, true)
	w := ask(f, "GET", "/v1/openapi.json", "", "Authorization", "")
	tag := w.Header().Get("ETag")
	if w.Code != 200 || !json.Valid(w.Body.Bytes()) || !strings.HasPrefix(tag, `"`) || w.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("got %d, tag %q, %s", w.Code, tag, w.Header())
	}
	for _, test := range []struct {
		method, tag string
		status      int
	}{
		{"GET", tag, 304}, {"GET", "W/" + tag, 304}, {"GET", `"other", ` + tag, 304}, {"GET", "*", 304}, {"HEAD", tag, 304},
		{"GET", `"other"`, 200}, {"GET", strings.Trim(tag, `"`), 200}, {"HEAD", "", 200}, {"POST", "", 405}, {"POST", tag, 405},
	} {
		w := ask(f, test.method, "/v1/openapi.json", "", "Authorization", "", "If-None-Match", test.tag)
		if w.Code != test.status || (w.Body.Len() > 0) != (test.method == "GET" && test.status == 200 || test.status == 405) {
			t.Errorf("%s with %s: got %d and %d bytes, want %d", test.method, test.tag, w.Code, w.Body.Len(), test.status)
		}
		if test.status == 405 && w.Header().Get("Allow") != "GET, HEAD" || test.status != 405 && w.Header().Get("ETag") != tag {
			t.Errorf("%s with %s: %s", test.method, test.tag, w.Header())
		}
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}

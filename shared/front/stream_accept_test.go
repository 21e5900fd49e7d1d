package front_test

import (
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/front"
)

func TestAnEventStreamGoesToThoseWhoNameIt(t *testing.T) {
	for _, test := range []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"*/*"}, false},
		{[]string{"text/*"}, false},
		{[]string{"application/json"}, false},
		{[]string{"application/json, */*"}, false},
		{[]string{"application/json, text/event-stream"}, true},
		{[]string{"text/event-stream"}, true},
		{[]string{"text/event-stream,application/json"}, true},
		{[]string{"application/json", "text/event-stream"}, true},
		{[]string{"Text/Event-Stream"}, true},
		{[]string{" text/event-stream\t;\tq=0.1 , application/json"}, true},
		{[]string{"text/event-stream; charset=utf-8"}, true},
		{[]string{"text/event-stream; Q=1.000;"}, true},
		{[]string{"text/event-stream;q=0"}, false},
		{[]string{"text/event-stream;q=0.000, application/json"}, false},
		{[]string{"text/event-stream;q=-1"}, false},
		{[]string{"text/event-stream;q=2"}, false},
		{[]string{"text/event-stream;q=NaN"}, false},
		{[]string{"text/event-stream;q=x"}, false},
		{[]string{"text/event-stream;q="}, false},
		{[]string{"text/event-stream;q=0;q=1"}, false},
		{[]string{"text/event-stream2"}, false},
		{[]string{"text/event-stream application/json"}, false},
		{[]string{`application/json;a=", text/event-stream, "`}, false},
		{[]string{`application/json;a="\", text/event-stream, "`}, false},
		{[]string{`application/json;a="b\\", text/event-stream`}, true},
		{[]string{`application/json;a="never closed, text/event-stream`}, false},
		{[]string{",,;,text/event-stream"}, true},
	} {
		if got := front.TakesEvents(test.accept); got != test.want {
			t.Errorf("Accept %q: got %t, want %t", test.accept, got, test.want)
		}
	}
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "*/*", "application/json, text/event-stream;q=0.5", `a/b;c="d\", e", text/event-stream`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		got := front.TakesEvents([]string{accept})
		if got && !strings.Contains(strings.ToLower(accept), "text/event-stream") {
			t.Errorf("%q does not name the type", accept)
		}
		if strings.Contains(accept, `"`) {
			return // a quote that is not closed takes all that follows
		}
		if !front.TakesEvents([]string{accept + ",text/event-stream"}) {
			t.Errorf("%q hides the element after it", accept)
		}
		values := strings.Split(accept, ",")
		slices.Reverse(values)
		if front.TakesEvents(values) != got {
			t.Errorf("%q: the order or the number of header lines matters", accept)
		}
	})
}

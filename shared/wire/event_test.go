package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

// wide bounds are met by no test that is not about bounds.
var wide = wire.EventLimits{Bytes: 4 << 20, Events: 1000}

// events reads a whole stream and gives the error that ended it.
func events(r io.Reader, l wire.EventLimits) ([]wire.Event, error) {
	reader := wire.NewEventReader(r, l)
	var all []wire.Event
	for {
		event, err := reader.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event)
	}
}

// message is an event as most servers send it.
func message(data string) wire.Event { return wire.Event{Type: "message", Data: []byte(data)} }

func TestStreamsAreReadAsTheStandardSays(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []wire.Event
	}{
		"LF":                        {"event: message\ndata: {}\n\n", []wire.Event{message("{}")}},
		"CRLF":                      {"event: message\r\ndata: {}\r\n\r\n", []wire.Event{message("{}")}},
		"lone CR":                   {"event: message\rdata: {}\r\rdata: 2\r\r", []wire.Event{message("{}"), message("2")}},
		"line ends mixed":           {"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\n", []wire.Event{message("1"), message("2"), message("3"), message("4")}},
		"no event field":            {"data: {}\n\n", []wire.Event{message("{}")}},
		"no blank after colon":      {"event:message\ndata:{}\n\n", []wire.Event{message("{}")}},
		"one blank only is dropped": {"data:  {} \n\n", []wire.Event{message(" {} ")}},
		"data of several lines":     {"data: {\"a\":\ndata: 1\ndata:}\n\n", []wire.Event{message("{\"a\":\n1\n}")}},
		"empty line inside data":    {"data: a\ndata:\ndata\ndata: b\n\n", []wire.Event{message("a\n\n\nb")}},
		"byte order mark":           {"\ufeffdata: {}\n\n", []wire.Event{message("{}")}},
		"mark before a comment":     {"\ufeff: hello\ndata: {}\n\n", []wire.Event{message("{}")}},
		"mark in the second line":   {"data: 1\n\ufeffdata: 2\n\n", []wire.Event{message("1")}},
		"comments":                  {": keepalive\n\n:\n\n:x\ndata: 1\n: y\ndata: 2\n\n", []wire.Event{message("1\n2")}},
		"priming event":             {"id: 0\nretry: 3000\ndata:\n\ndata: {}\n\n", []wire.Event{{Type: "message", ID: "0", Data: []byte("{}")}}},
		"priming without data":      {"id: 7\n\ndata: {}\n\n", []wire.Event{{Type: "message", ID: "7", Data: []byte("{}")}}},
		"type without data":         {"event: ping\n\ndata: {}\n\n", []wire.Event{message("{}")}},
		"other types are named":     {"event: ping\ndata: 2026\n\nevent: endpoint\ndata: /x\n\ndata: {}\n\n", []wire.Event{{Type: "ping", Data: []byte("2026")}, {Type: "endpoint", Data: []byte("/x")}, message("{}")}},
		"last type counts":          {"event: ping\nevent: message\ndata: {}\n\n", []wire.Event{message("{}")}},
		"empty type is message":     {"event:\ndata: {}\n\n", []wire.Event{message("{}")}},
		"id stays":                  {"id: a\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n", []wire.Event{{Type: "message", ID: "a", Data: []byte("1")}, {Type: "message", ID: "a", Data: []byte("2")}, message("3")}},
		"id with NUL is ignored":    {"id: a\x00b\ndata: 1\n\n", []wire.Event{message("1")}},
		"retry garbage":             {"retry: abc\nretry: -1\nretry\ndata: 1\n\n", []wire.Event{message("1")}},
		"unknown fields":            {"foo: bar\nDATA: x\n data: y\ndata : z\ndata: 1\n\n", []wire.Event{message("1")}},
		"field without colon":       {"data\ndata: 1\nhello\n\n", []wire.Event{message("\n1")}},
		"blank lines":               {"\n\n\r\n\rdata: 1\n\n\n\n", []wire.Event{message("1")}},
		"colons in data":            {"data: a: b\ndata:: c\n\n", []wire.Event{message("a: b\n: c")}},
		"NUL in data":               {"data: a\x00b\n\n", []wire.Event{message("a\x00b")}},
		"nothing":                   {"", nil},
		"blanks only":               {"\n\n", nil},
		"comment only":              {": bye", nil},
		"mark only":                 {"\ufeff", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.stream), "by byte": iotest.OneByteReader(strings.NewReader(c.stream)),
				"end with data": iotest.DataErrReader(strings.NewReader(c.stream)), "halves": iotest.HalfReader(strings.NewReader(c.stream)),
			} {
				got, err := events(r, wide)
				if diff := cmp.Diff(c.want, got); diff != "" || err != io.EOF {
					t.Errorf("%s: %v (-want +got):\n%s", how, err, diff)
				}
			}
		})
	}
}

func TestEventCutByTheEndIsPartial(t *testing.T) {
	for _, stream := range []string{"data: 1\n\ndata: {}\n", "data: 1\n\ndata: {}", "data: 1\n\ndata: {}\r", "data: 1\n\ndata: {}\r\n", "data: 1\r\r\ndata: {}"} {
		got, err := events(strings.NewReader(stream), wide)
		want := []wire.Event{message("1"), {Type: "message", Data: []byte("{}"), Partial: true}}
		if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
			t.Errorf("%q: %v (-want +got):\n%s", stream, err, diff)
		}
	}
	if got, err := events(strings.NewReader("data: 1\n\nid: 3\nevent: x\ndata:"), wide); len(got) != 1 || err != io.EOF {
		t.Errorf("an event without data at the end: %v, %v", got, err)
	}
}

func TestBrokenSourceGivesNoPartialEvent(t *testing.T) {
	for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("connection reset")} {
		source := io.MultiReader(strings.NewReader("data: 1\n\ndata: {}\n"), iotest.ErrReader(cause))
		reader := wire.NewEventReader(source, wide)
		if event, err := reader.Next(); err != nil || string(event.Data) != "1" {
			t.Fatalf("first event %v, %v", event, err)
		}
		for range 3 {
			if event, err := reader.Next(); err != cause || event.Data != nil {
				t.Errorf("after a broken source: %v, %v, want %v", event, err, cause)
			}
		}
	}
}

func TestSourceThatGivesNothingEnds(t *testing.T) {
	silent := readerFunc(func([]byte) (int, error) { return 0, nil })
	if _, err := events(silent, wide); err != io.ErrNoProgress {
		t.Errorf("error %v, want io.ErrNoProgress", err)
	}
}

// readerFunc is a source made of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestReaderDoesNotReadBeyondTheEventItReturns(t *testing.T) {
	for _, stream := range []string{"data: {}\n\n", "data: {}\r\r", "data: {}\r\n\r"} {
		first := strings.NewReader(stream)
		source := readerFunc(func(p []byte) (int, error) {
			if first.Len() == 0 {
				t.Fatalf("%q: read on after the event was complete", stream)
			}
			return first.Read(p)
		})
		if event, err := wire.NewEventReader(source, wide).Next(); err != nil || string(event.Data) != "{}" {
			t.Errorf("%q: %v, %v", stream, event, err)
		}
	}
}

func TestCRAtTheEndOfAChunkTakesTheLFOfTheNext(t *testing.T) {
	source := io.MultiReader(strings.NewReader("data: 1\r"), strings.NewReader("\ndata: 2\r\n\r"), strings.NewReader("\ndata: 3\n\n"))
	got, err := events(source, wide)
	if diff := cmp.Diff([]wire.Event{message("1\n2"), message("3")}, got); diff != "" || err != io.EOF {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestLongDataLinePasses(t *testing.T) {
	for _, size := range []int{70 << 10, 300 << 10, 1100 << 10} {
		data := strings.Repeat("x", size)
		got, err := events(strings.NewReader("data: "+data+"\ndata: y\n\ndata: "+data+"\n\n"), wide)
		if err != io.EOF || len(got) != 2 || string(got[0].Data) != data+"\ny" || string(got[1].Data) != data {
			t.Errorf("a line of %d bytes: %d events, %v", size, len(got), err)
		}
	}
}

func TestDataIsTheCallers(t *testing.T) {
	stream := "data: first\n\ndata: second\ndata: line\n\n: " + strings.Repeat("x", 20_000) + "\n\ndata: third\n\n"
	got, err := events(iotest.OneByteReader(strings.NewReader(stream)), wide)
	if err != io.EOF || len(got) != 3 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	whole, _ := events(strings.NewReader(stream), wide)
	if diff := cmp.Diff([]wire.Event{message("first"), message("second\nline"), message("third")}, whole); diff != "" {
		t.Errorf("data was overwritten (-want +got):\n%s", diff)
	}
}

func TestBoundOfBytesIsExactAndCountsEverything(t *testing.T) {
	for _, stream := range []string{
		"data: {}\n\n", ": comment that never ends\n\n\n\ndata: x\n\n", "id: 1\n\nid: 2\n\ndata: x\n\n", "\ufeff\r\n\r\ndata: x\r\n\r\n",
		"data: a line that does not end",
	} {
		size := int64(len(stream))
		if strings.HasSuffix(stream, "\r\n") {
			size-- // the LF is read with what follows
		}
		for limit := int64(0); limit < int64(len(stream)); limit++ {
			if got, err := events(strings.NewReader(stream), wire.EventLimits{Bytes: limit, Events: 9}); err != wire.ErrTooLarge || limit < size && len(got) > 0 {
				t.Errorf("%q within %d bytes: %v, %v, want ErrTooLarge", stream, limit, got, err)
			}
		}
		if got, err := events(strings.NewReader(stream), wire.EventLimits{Bytes: int64(len(stream)), Events: 9}); err != io.EOF || len(got) != 1 {
			t.Errorf("%q within its own size: %v, %v", stream, got, err)
		}
	}
}

func TestBoundDoesNotTakeBackEvents(t *testing.T) {
	source := io.MultiReader(strings.NewReader("data: {}\n\n"), endless("x"))
	reader := wire.NewEventReader(source, wire.EventLimits{Bytes: 1 << 20, Events: 10})
	if event, err := reader.Next(); err != nil || string(event.Data) != "{}" {
		t.Fatalf("first event %v, %v", event, err)
	}
	for range 3 {
		if _, err := reader.Next(); err != wire.ErrTooLarge {
			t.Errorf("error %v, want ErrTooLarge every time", err)
		}
	}
}

// endless repeats text for ever.
func endless(text string) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		for n := 0; n < len(p); {
			n += copy(p[n:], text)
		}
		return len(p), nil
	})
}

func TestEndlessStreamsMeetTheirBound(t *testing.T) {
	limits := wire.EventLimits{Bytes: 1 << 20, Events: 10_000}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"one line":     {"data: xxxxxxxx", wire.ErrTooLarge},
		"comments":     {": keepalive\n\n", wire.ErrTooLarge},
		"blank lines":  {"\n", wire.ErrTooLarge},
		"data lines":   {"data: x\n", wire.ErrTooLarge},
		"tiny events":  {"data: 1\n\n", wire.ErrTooManyEvents},
		"empty events": {"id: 1\n\n", wire.ErrTooManyEvents},
		"types":        {"event: x\r\r", wire.ErrTooManyEvents},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := events(endless(c.text), limits); err != c.want || len(got) > limits.Events {
				t.Errorf("%d events, error %v, want %v", len(got), err, c.want)
			}
		})
	}
}

func TestBoundOfEventsIsExact(t *testing.T) {
	stream := "data: 1\n\nid: 2\n\n: no event\n\ndata: 3\n\n"
	for limit, want := range map[int]error{0: wire.ErrTooManyEvents, 2: wire.ErrTooManyEvents, 3: io.EOF} {
		reader := wire.NewEventReader(strings.NewReader(stream), wire.EventLimits{Bytes: 1000, Events: limit})
		var err error
		for err == nil {
			_, err = reader.Next()
		}
		if _, again := reader.Next(); err != want || again != want {
			t.Errorf("limit %d: %v, then %v, want %v", limit, err, again, want)
		}
	}
	if _, err := events(strings.NewReader("data: 1"), wire.EventLimits{Bytes: 1000}); err != wire.ErrTooManyEvents {
		t.Errorf("a partial event beyond the bound: %v", err)
	}
	if _, err := events(strings.NewReader("\n"), wire.EventLimits{}); err != wire.ErrTooLarge {
		t.Errorf("zero limits: %v", err)
	}
}

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

func TestMessagesAreWrittenAsOneEventEach(t *testing.T) {
	for json, want := range map[string]string{
		`{"a":1}`:              "event: message\ndata: {\"a\":1}\n\n",
		"{\n\"a\":\r\n1\r}":    "event: message\ndata: {\ndata: \"a\":\ndata: 1\ndata: }\n\n",
		"\n\r\r\n{}":           "event: message\ndata: \ndata: \ndata: \ndata: {}\n\n",
		" {}":                  "event: message\ndata:  {}\n\n",
		"{}\n":                 "event: message\ndata: {}\ndata: \n\n",
		`{"s":"\r\n\u0000é<"}`: "event: message\ndata: {\"s\":\"\\r\\n\\u0000é<\"}\n\n",
	} {
		var out bytes.Buffer
		if err := wire.NewEventWriter(&out).Message([]byte(json)); err != nil || out.String() != want {
			t.Errorf("Message(%q) wrote %q, %v, want %q", json, out.String(), err, want)
		}
	}
}

func TestWrittenStreamCanBeRead(t *testing.T) {
	var out bytes.Buffer
	writer := wire.NewEventWriter(&out)
	sent := []string{answer(`{"n":9007199254740993}`), "{ \"a\" :\n [ 1.0 ] }", strings.Repeat("x", 300<<10)}
	for _, text := range sent {
		if err := errors.Join(writer.Comment(), writer.Message([]byte(text)), writer.Comment()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := events(&out, wide)
	if err != io.EOF || len(got) != len(sent) {
		t.Fatalf("%d events, %v, want %d", len(got), err, len(sent))
	}
	for i, event := range got {
		if event.Type != "message" || event.Partial || string(event.Data) != sent[i] {
			t.Errorf("event %d is %s %.60q, want %.60q", i, event.Type, event.Data, sent[i])
		}
	}
}

func TestCommentIsNoEvent(t *testing.T) {
	var out bytes.Buffer
	if err := wire.NewEventWriter(&out).Comment(); err != nil || out.String() != ":\n\n" {
		t.Errorf("Comment wrote %q, %v", out.String(), err)
	}
}

func TestEveryEventReachesTheClientAtOnce(t *testing.T) {
	next := make(chan func(*wire.EventWriter) error)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		writer := wire.NewEventWriter(w)
		for step := range next {
			if err := step(writer); err != nil {
				t.Error(err)
			}
		}
	}))
	defer server.Close()
	defer close(next)
	go func() { next <- (*wire.EventWriter).Comment }()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := wire.NewEventReader(response.Body, wide)
	for _, text := range []string{"1", "2"} {
		next <- func(w *wire.EventWriter) error { return w.Message([]byte(text)) }
		if event, err := reader.Next(); err != nil || string(event.Data) != text {
			t.Fatalf("event %v, %v, want %s while the handler waits", event, err, text)
		}
	}
}

// brokenWriter fails every write, or every flush.
type brokenWriter struct {
	http.ResponseWriter
	write, flush error
}

func (w brokenWriter) Write(p []byte) (int, error) { return len(p), w.write }
func (w brokenWriter) FlushError() error           { return w.flush }

func TestGoneReaderIsToldToTheWriter(t *testing.T) {
	gone := errors.New("gone")
	for name, w := range map[string]brokenWriter{
		"write": {ResponseWriter: httptest.NewRecorder(), write: gone},
		"flush": {ResponseWriter: httptest.NewRecorder(), flush: gone},
	} {
		writer := wire.NewEventWriter(w)
		if err := writer.Message([]byte("{}")); err != gone {
			t.Errorf("%s: Message = %v, want %v", name, err, gone)
		}
		if err := writer.Comment(); err != gone {
			t.Errorf("%s: Comment = %v, want %v", name, err, gone)
		}
	}
}

// deaf is a ResponseWriter that cannot flush.
type deaf struct{ out *bytes.Buffer }

func (d deaf) Header() http.Header         { return nil }
func (d deaf) WriteHeader(int)             {}
func (d deaf) Write(p []byte) (int, error) { return d.out.Write(p) }

func TestWriterWithoutFlushIsFine(t *testing.T) {
	var out bytes.Buffer
	if err := wire.NewEventWriter(deaf{&out}).Message([]byte("{}")); err != nil || out.Len() == 0 {
		t.Errorf("Message = %v after %d bytes", err, out.Len())
	}
}

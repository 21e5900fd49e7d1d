package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// The SDK writes structured content with <, > and & escaped and without
// blanks. A result that shall keep its bytes holds this stand-in instead, and
// the reply gets the bytes on its way out. Within a JSON string the quotes
// would be escaped, so that no text of a caller can be mistaken for it.
const (
	standIn = "@raw"
	marker  = `"structuredContent":"` + standIn + `"`
)

type rawKey struct{}

// keep asks for bytes to stand where the result of this request has [standIn].
// Line breaks between tokens are dropped: an event stream would cut there.
func keep(ctx context.Context, b json.RawMessage) {
	if raw, ok := ctx.Value(rawKey{}).(*json.RawMessage); ok {
		*raw = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r"), nil), []byte("\n"), nil)
	}
}

// withRaw gives every request a place for [keep].
func withRaw(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw := new(json.RawMessage)
		ctx := context.WithValue(r.Context(), rawKey{}, raw)
		next.ServeHTTP(&rawWriter{ResponseWriter: w, raw: raw}, r.WithContext(ctx))
	})
}

// rawWriter puts the bytes in. The SDK writes an event in one piece.
type rawWriter struct {
	http.ResponseWriter
	raw *json.RawMessage
}

// Write replaces the stand-in and passes everything else as it is.
func (w *rawWriter) Write(b []byte) (int, error) {
	before, after, found := bytes.Cut(b, []byte(marker))
	if !found || *w.raw == nil {
		return w.ResponseWriter.Write(b)
	}
	out := append([]byte(nil), before...)
	out = append(out, `"structuredContent":`...)
	out = append(append(out, *w.raw...), after...)
	if _, err := w.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap lets the SDK flush.
func (w *rawWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

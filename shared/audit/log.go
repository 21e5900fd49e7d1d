package audit

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// NewLog makes a logger of JSON lines for w. A canonical line carries the time
// of its call and no second one: the handler's own would be a duplicate key,
// which strict readers refuse. Every other line has the handler's.
func NewLog(w io.Writer) *slog.Logger { return slog.New(oneTime{slog.NewJSONHandler(w, nil)}) }

// oneTime leaves the handler's own time out of lines that carry one.
type oneTime struct{ slog.Handler }

// Handle writes one line.
func (h oneTime) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == slog.TimeKey {
			r.Time = time.Time{}
		}
		return !r.Time.IsZero()
	})
	return h.Handler.Handle(ctx, r)
}

// WithAttrs adds attributes to every line.
func (h oneTime) WithAttrs(attrs []slog.Attr) slog.Handler {
	return oneTime{h.Handler.WithAttrs(attrs)}
}

// WithGroup puts the attributes of every line under a name.
func (h oneTime) WithGroup(name string) slog.Handler { return oneTime{h.Handler.WithGroup(name)} }

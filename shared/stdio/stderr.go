package stdio

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// maxShown is what is logged of one line of a child's stderr, in bytes: a
	// stack trace's lines are shorter.
	maxShown = 1 << 10
	// maxMasked is what is looked at of one line for secrets, in bytes: the
	// longest value that a secret may have, so that none is shown in part.
	maxMasked = 64 << 10
	// stderrWindow and stderrLines bound how many lines of one child are
	// logged: a start with all its warnings, and a line every second or so.
	stderrWindow = time.Minute
	stderrLines  = 100
)

// diary logs a child's stderr, within bounds.
type diary struct {
	log   *slog.Logger
	now   func() time.Time
	c     *child
	began time.Time // the window
	shown int       // lines in it
	left  int       // lines since then that were not shown
}

// transcribe logs what the child writes to its stderr until that ends.
func (p *Pool) transcribe(c *child) {
	defer close(c.quiet)
	d := diary{log: p.log, now: p.now, c: c, began: p.now()}
	defer d.settle()
	l := lines{source: c.stderr}
	for {
		line, err := l.next(maxMasked)
		long := errors.Is(err, errLong)
		if long {
			_, err = l.skip()
		}
		if len(line) > 0 {
			d.note(string(line), long, l.cut)
		}
		if err != nil {
			return
		}
	}
}

// note logs a line where the window has room. Masking comes first, cutting
// second: a secret that was cut is not found any more, so a line that was read
// in part is not shown at all. broken says that the text ended without a line
// end.
func (d *diary) note(line string, long, broken bool) {
	if now := d.now(); now.Sub(d.began) >= stderrWindow {
		d.settle()
		d.began, d.shown = now, 0
	}
	if long || d.c.mask == nil || d.shown >= stderrLines {
		d.left++
		return
	}
	d.shown++
	text := hidden
	if !d.c.veil.covers(line, broken) {
		text = d.c.mask(line)
	}
	d.log.LogAttrs(context.Background(), slog.LevelInfo, "server stderr", slog.String("server", d.c.server), slog.Int("pid", d.c.pid), slog.String("line", shown(text)))
}

// settle logs how many lines were not shown.
func (d *diary) settle() {
	if d.left > 0 {
		d.log.LogAttrs(context.Background(), slog.LevelWarn, "server stderr not shown", slog.String("server", d.c.server), slog.Int("pid", d.c.pid), slog.Int("lines", d.left))
	}
	d.left = 0
}

// shown cuts and quotes a line: the log is read on terminals.
func shown(text string) string {
	if len(text) <= maxShown {
		return strconv.QuoteToGraphic(text)
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.QuoteToGraphic(text[:end]) + "..."
}

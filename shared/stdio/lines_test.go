package stdio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/stdio"
)

// readAll reads every line of r; one that is too long is told by its start and
// the bytes after it.
func readAll(t testing.TB, r io.Reader, limit int64) []string {
	t.Helper()
	var got []string
	for l := stdio.NewLines(r); ; {
		line, err := l.Next(limit)
		switch {
		case err == nil:
			got = append(got, string(line))
		case errors.Is(err, stdio.ErrLong):
			rest, err := l.Rest()
			got = append(got, fmt.Sprintf("%s+%d", line, rest))
			if err != nil && err != io.EOF {
				t.Fatalf("skipping: %v", err)
			}
		case err == io.EOF:
			return got
		default:
			t.Fatalf("got error %v", err)
		}
	}
}

func TestLinesAreCutAtLineEndsAndBounds(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"none":                 {"", nil},
		"one":                  {"a\n", []string{"a"}},
		"CRLF":                 {"a\r\nb\r\n", []string{"a", "b"}},
		"a CR is no line end":  {"a\rb\n", []string{"a\rb"}},
		"empty ones":           {"\n\r\n\n", []string{"", "", ""}},
		"the last has no end":  {"a\nb", []string{"a", "b"}},
		"as long as may be":    {"12345678\n", []string{"12345678"}},
		"longer by one":        {"123456789\nb\n", []string{"12345678+1", "b"}},
		"longer, without end":  {"12345678901", []string{"12345678+3"}},
		"its CR counts":        {"12345678\r\n", []string{"12345678+1"}},
		"zero bytes":           {"\x00\x00\n", []string{"\x00\x00"}},
		"long, then empty":     {"1234567890\n\n", []string{"12345678+2", ""}},
		"long ones in a row":   {strings.Repeat("1234567890\n", 3), []string{"12345678+2", "12345678+2", "12345678+2"}},
		"longer than any read": {strings.Repeat("x", 100_000) + "\nb", []string{"xxxxxxxx+99992", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":         strings.NewReader(tt.text),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(tt.text)),
				"error at once": iotest.DataErrReader(strings.NewReader(tt.text)),
			} {
				if diff := cmp.Diff(tt.want, readAll(t, r, 8)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestALineIsTheCallersToKeep(t *testing.T) {
	l := stdio.NewLines(strings.NewReader("first\nsecond\n"))
	first, _ := l.Next(100)
	_ = append(first, "????????"...)
	if second, _ := l.Next(100); string(second) != "second" || string(first) != "first" {
		t.Errorf("got %q and %q", first, second)
	}
}

func TestASourceThatFailsOrGivesNothingIsGivenUp(t *testing.T) {
	broken := errors.New("broken")
	l := stdio.NewLines(io.MultiReader(strings.NewReader("a\npart"), iotest.ErrReader(broken)))
	if line, err := l.Next(100); string(line) != "a" || err != nil {
		t.Errorf("got %q, error %v", line, err)
	}
	for range 2 {
		if line, err := l.Next(100); line != nil || !errors.Is(err, broken) {
			t.Errorf("got %q, error %v, want a part of a line not to be given", line, err)
		}
	}
	if _, err := stdio.NewLines(idle{}).Next(100); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got error %v", err)
	}
}

// idle gives nothing, for ever.
type idle struct{}

// Read gives nothing.
func (idle) Read([]byte) (int, error) { return 0, nil }

// FuzzLines holds the reader to its rule however the text is cut: the lines
// are the text's own, each within its bound.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\"}\nbanner\r\n\n"), uint8(3), uint8(20))
	f.Add([]byte("123456789\n\r\n1"), uint8(1), uint8(8))
	f.Add([]byte("\r\n\r"), uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, size, limit uint8) {
		var want []string
		rest := text
		for len(rest) > 0 {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			rest = after
			switch {
			case len(line) > int(limit):
				want = append(want, fmt.Sprintf("%s+%d", line[:limit], len(line)-int(limit)))
			case found:
				want = append(want, string(bytes.TrimSuffix(line, []byte("\r"))))
			default:
				want = append(want, string(line))
			}
		}
		chunked := readAll(t, &cutter{text: text, size: int(size)%7 + 1}, int64(limit))
		whole := readAll(t, bytes.NewReader(text), int64(limit))
		if diff := cmp.Diff(want, chunked); diff != "" {
			t.Errorf("chunked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(chunked, whole); diff != "" {
			t.Errorf("chunked and whole differ:\n%s", diff)
		}
	})
}

// cutter gives a text in small pieces.
type cutter struct {
	text []byte
	size int
}

// Read gives the next piece.
func (c *cutter) Read(b []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

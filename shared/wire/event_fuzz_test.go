package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

// chunked gives data in chunks whose sizes are drawn from seed.
func chunked(data []byte, seed uint64) io.Reader {
	random := rand.New(rand.NewPCG(seed, 1))
	return readerFunc(func(p []byte) (int, error) {
		if len(data) == 0 {
			return 0, io.EOF
		}
		n := copy(p, data[:1+random.IntN(min(len(data), 12))])
		data = data[n:]
		return n, nil
	})
}

// afterCR gives data in chunks that end at every CR, and elsewhere after size
// bytes.
func afterCR(data []byte, size int) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if len(data) == 0 {
			return 0, io.EOF
		}
		n := min(len(data), size, len(p))
		if cr := bytes.IndexByte(data[:n], '\r'); cr >= 0 {
			n = cr + 1
		}
		n = copy(p, data[:n])
		data = data[n:]
		return n, nil
	})
}

// interpret reads a whole stream as the standard describes it, line by line.
func interpret(stream string) (all []wire.Event) {
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(stream, "\ufeff"))
	kind, id, data := "", "", []string(nil)
	dispatch := func(partial bool) {
		event := wire.Event{Type: kind, ID: id, Data: []byte(strings.Join(data, "\n")), Partial: partial}
		if kind == "" {
			event.Type = "message"
		}
		if len(event.Data) > 0 {
			all = append(all, event)
		}
		kind, data = "", nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(stream, "\n"), "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			dispatch(false)
		case name == "event":
			kind = value
		case name == "data":
			data = append(data, value)
		case name == "id" && !strings.Contains(value, "\x00"):
			id = value
		}
	}
	dispatch(true)
	return all
}

func sameEvent(a, b wire.Event) bool {
	return a.Type == b.Type && a.ID == b.ID && bytes.Equal(a.Data, b.Data) && a.Partial == b.Partial
}

// FuzzEventReader checks that a stream means what the standard says, however
// it is cut.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("event: message\ndata: {}\n\n"), uint64(1), uint16(100), uint8(5))
	f.Add([]byte("\ufeffdata: 1\r\ndata: 2\r\n\r\n"), uint64(2), uint16(100), uint8(5))
	f.Add([]byte("data: 1\r\rdata: 2\r\r: x"), uint64(3), uint16(9), uint8(5))
	f.Add([]byte("id: 0\nretry: 3\ndata:\n\ndata\n"), uint64(4), uint16(100), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, size uint16, count uint8) {
		limits := wire.EventLimits{Bytes: int64(size), Events: int(count)}
		whole, wholeErr := events(bytes.NewReader(stream), limits)
		for _, source := range []io.Reader{chunked(stream, seed), afterCR(stream, len(stream)), afterCR(stream, 1+int(seed%50))} {
			parts, partsErr := events(source, limits)
			if !slices.EqualFunc(whole, parts, sameEvent) || wholeErr != partsErr {
				t.Fatalf("whole %v, in parts %v (-whole +parts):\n%s", wholeErr, partsErr, cmp.Diff(whole, parts))
			}
		}
		if wholeErr == io.EOF {
			if want := interpret(string(stream)); !slices.EqualFunc(want, whole, sameEvent) {
				t.Fatalf("(-standard +reader):\n%s", cmp.Diff(want, whole))
			}
		}
		total := 0
		for _, event := range whole {
			total += len(event.Data)
			if len(event.Data) == 0 || event.Type == "" || strings.ContainsAny(event.ID, "\x00\r\n") || bytes.ContainsRune(event.Data, '\r') {
				t.Fatalf("event %+v", event)
			}
		}
		if total > len(stream) || total > int(size) || len(whole) > int(count) {
			t.Fatalf("%d bytes in %d events out of %d bytes", total, len(whole), len(stream))
		}
	})
}

// Events of many sizes, whose lines end anywhere in the reader's memory, which
// grows, moves and is given away.
func TestEventsOfEverySizeAreReadWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		var stream strings.Builder
		for range r.IntN(40) {
			for range r.IntN(4) {
				text := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(1<<r.IntN(15)))
				stream.WriteString([]string{"data:", "data: ", "data: ", ": ", "id: ", "event:"}[r.IntN(6)] + text + []string{"\n", "\r\n", "\r"}[r.IntN(3)])
			}
			stream.WriteString([]string{"\n", "\r\n", "\n\n", ""}[r.IntN(4)])
		}
		want := interpret(stream.String())
		most := 64 << r.IntN(9)
		text := stream.String()
		source := func(p []byte) (int, error) {
			if text == "" {
				return 0, io.EOF
			}
			n := copy(p, text[:min(len(text), 1+r.IntN(most))])
			text = text[n:]
			return n, nil
		}
		got, err := events(readerFunc(source), wide)
		if !slices.EqualFunc(want, got, sameEvent) || err != io.EOF {
			t.Fatalf("%v, chunks of up to %d (-standard +reader):\n%.4000s", err, most, cmp.Diff(want, got))
		}
	}
}

// What one large event costs in memory is little more than the event.
func TestALargeEventIsHardlyCopied(t *testing.T) {
	stream := []byte("data: " + strings.Repeat("x", 256<<10) + "\n\n")
	got := allocated(50, func() {
		if _, err := wire.NewEventReader(bytes.NewReader(stream), wide).Next(); err != nil {
			t.Fatal(err)
		}
	})
	if most := 3 * len(stream); got > most {
		t.Errorf("an event of %d bytes takes %d bytes, at most %d", len(stream), got, most)
	}
}

// allocated is how many bytes one of so many runs allocates.
func allocated(runs int, run func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) / runs
}

func BenchmarkEventReader(b *testing.B) {
	for _, size := range sizes {
		stream := []byte("event: message\ndata: " + answer(`{"content":[{"type":"text","text":"`+strings.Repeat("x", size)+`"}]}`) + "\n\n")
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.NewEventReader(bytes.NewReader(stream), wide).Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package local_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// fixed is a record that is the same in every run.
func fixed(detail string) audit.Record {
	r := recordAt("acme", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	r.CallID, r.Detail = "01KBBQ5Z00000000000000000A", detail
	return r
}

// frames are those of some records, from a sequence on.
func frames(t testing.TB, sequence uint64, details ...string) [][]byte {
	t.Helper()
	var all [][]byte
	for i, detail := range details {
		frame, err := local.Frame(fixed(detail), i%2 == 1, sequence+uint64(i))
		must(t, err)
		all = append(all, frame)
	}
	return all
}

func scanned(t testing.TB, data []byte) [][]byte {
	t.Helper()
	got, err := local.Scan(bytes.NewReader(data))
	must(t, err)
	return got
}

func TestFramesAreReadBackAsTheyWereWritten(t *testing.T) {
	all := frames(t, 7, "", "short", strings.Repeat("é", 90_000), "\x00\n\"")
	got := scanned(t, slices.Concat(all...))
	if !slices.EqualFunc(all, got, bytes.Equal) {
		t.Errorf("got %d frames, want the %d that were written", len(got), len(all))
	}
}

func TestReadingEndsWhereAFrameIsNotWhole(t *testing.T) {
	all := frames(t, 7, "one", "two", "three")
	whole := slices.Concat(all...)
	borders := []int{0, len(all[0]), len(all[0]) + len(all[1]), len(whole)}
	for cut := range len(whole) {
		want := 0
		for borders[want+1] <= cut {
			want++
		}
		if got := len(scanned(t, whole[:cut])); got != want {
			t.Fatalf("cut at %d: got %d frames, want %d", cut, got, want)
		}
		zeroed := append(slices.Clone(whole[:cut]), make([]byte, len(whole)-cut)...)
		if got := len(scanned(t, zeroed)); got < want || got > want+1 || got > want && !bytes.Equal(zeroed[:borders[got]], whole[:borders[got]]) {
			t.Fatalf("zeros from %d on: got %d frames, want %d", cut, got, want)
		}
	}
}

func TestNoByteOfAFrameCanChange(t *testing.T) {
	all := frames(t, 7, "one", "two", "three")
	whole := slices.Concat(all...)
	second := len(all[0])
	for i := range len(all[1]) {
		changed := slices.Clone(whole)
		changed[second+i] ^= 0x20
		if got := len(scanned(t, changed)); got != 1 {
			t.Fatalf("byte %d of the second frame changed: got %d frames, want 1", i, got)
		}
	}
}

// What an earlier use of the same place has left is not read again.
func TestFramesOfAnEarlierUseAreNotRead(t *testing.T) {
	old := frames(t, 100, "one", "two", "six", "ten")
	young := frames(t, 500, "new")
	if len(young[0]) != len(old[0]) {
		t.Fatal("the frames differ in length")
	}
	mixed := slices.Concat(young[0], old[1], old[2], old[3])
	if got := len(scanned(t, mixed)); got != 1 {
		t.Errorf("got %d frames, want the new one alone", got)
	}
}

// A caller who chooses names cannot write a frame into one: he would have to
// know the sequence that comes next.
func TestAFrameInANameIsNotRead(t *testing.T) {
	forged := slices.Concat(frames(t, 501, "forged")...)
	r := fixed("")
	r.Tool = string(forged)
	outer, err := local.Frame(r, true, 100)
	must(t, err)
	at := bytes.Index(outer, forged)
	mixed := append(slices.Concat(frames(t, 500, strings.Repeat("x", 100))...), outer[at:]...)
	if got := len(scanned(t, mixed)); got != 2 {
		t.Fatalf("got %d frames: the attack does not work even with the right sequence", got)
	}
	first := scanned(t, slices.Concat(frames(t, 499, "x")[0], outer[at:]))
	if len(first) != 1 {
		t.Errorf("got %d frames, want 1", len(first))
	}
}

func TestATooLongFrameIsNotRead(t *testing.T) {
	head := make([]byte, local.HeadSize)
	for i := 4; i < 8; i++ {
		head[i] = 0xff
	}
	if got := len(scanned(t, append(head, make([]byte, 1<<20)...))); got != 0 {
		t.Errorf("got %d frames, want none", got)
	}
}

// Whatever stands in a journal, a record is given only as a frame that was
// written whole, and reading never fails but where a whole one is strange.
func FuzzScan(f *testing.F) {
	all := frames(f, 7, "one", "two", "three")
	whole := slices.Concat(all...)
	f.Add([]byte{}, whole)
	f.Add(whole[:len(whole)/2], whole[len(whole)/3:])
	f.Add(slices.Concat(all[0], all[2]), make([]byte, 64))
	f.Fuzz(func(t *testing.T, head, tail []byte) {
		for _, data := range [][]byte{head, tail, slices.Concat(head, tail), slices.Concat(whole, head), slices.Concat(all[0], head, whole)} {
			got, err := local.Scan(bytes.NewReader(data))
			if err != nil && !errors.Is(err, local.ErrNewer) {
				t.Fatal(err)
			}
			if at := slices.Concat(got...); !bytes.Equal(at, data[:len(at)]) {
				t.Fatalf("%d frames were read that were not written", len(got))
			}
		}
	})
}

// What could not be read back would be in the way of every page that it is on.
func TestWhatCouldNotBeReadBackIsRefused(t *testing.T) {
	s := held(t, t.TempDir())
	for name, change := range map[string]func(*audit.Record){
		"metadata that is no JSON":     func(r *audit.Record) { r.PolicyMetadata = json.RawMessage(`{"a":`) },
		"a year of five digits":        func(r *audit.Record) { r.Time = time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a year before the first":      func(r *audit.Record) { r.Time = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a duration that is no number": func(r *audit.Record) { r.DurationMS = math.NaN() },
		"a duration without end":       func(r *audit.Record) { r.DurationMS = math.Inf(1) },
	} {
		r := record("acme")
		change(&r)
		if s.Final(t.Context(), r) == nil || s.Intent(t.Context(), r) == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if got := ids(t, s, audit.Filter{}); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

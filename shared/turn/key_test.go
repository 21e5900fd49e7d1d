package turn_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"mcprelay/shared/turn"
)

func TestTurnsOfTwoRunsOrCallersDoNotMeet(t *testing.T) {
	seen := map[turn.Key]int{}
	for i, p := range [][4]string{
		{"acme", "user", "ci", "run"}, {"acme", "user", "ci", "Run"}, {"acme", "user", "cir", "un"}, {"acme", "use", "rci", "run"},
		{"acm", "euser", "ci", "run"}, {"acme", "service_token", "ci", "run"}, {"acme", "user", "ci", ""}, {"acme", "user", "", "ci"},
		{"other", "user", "ci", "run"}, {"", "", "", ""},
	} {
		key := turn.KeyOf(p[0], p[1], p[2], p[3])
		if was, ok := seen[key]; ok {
			t.Errorf("callers %d and %d have one key", was, i)
		}
		seen[key] = i
		if !strings.HasPrefix(string(key), "N#") || strings.Contains(string(key), "acme") {
			t.Errorf("caller %d: key %q", i, key)
		}
	}
}

// Stored turns are found by it, so it never changes.
func TestAKeyIsWhatItWas(t *testing.T) {
	if got, want := turn.KeyOf("acme", "user", "ci", "run-1"), turn.Key("N#TbicPOTwDiuuAJKHVforhbzix0jptl5C0aXEJsJfec0"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnIDLeadsToItsKeyAndNoneIsGivenTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		got := opened(t, &memory{}, wanted())
		if key, ok := turn.KeyOfID(got.ID); !ok || key != got.Key() {
			t.Fatalf("%s: got key %q, %v, want %q", got.ID, key, ok, got.Key())
		}
		if len(got.ID) != 68 || seen[got.ID] {
			t.Fatalf("%q was given, or is long", got.ID)
		}
		seen[got.ID] = true
	}
}

func TestWhatIsNoIDHasNoKey(t *testing.T) {
	id := opened(t, &memory{}, wanted()).ID
	for _, bad := range []string{
		"", "trn_", id[1:], id[4:], "trn_" + id, "TRN_" + id[4:], id[:len(id)-1], id + "A", id + "\n", id[:40] + "\n" + id[41:], id[:40] + "+" + id[41:],
		id[:40] + "=" + id[41:], id[:len(id)-2] + "==", " " + id, id[:10] + "\r\n" + id[12:], id[:10] + "\x00" + id[11:], strings.Repeat("A", 1<<20),
	} {
		if key, ok := turn.KeyOfID(bad); ok || key != "" {
			t.Errorf("%.80q has the key %q", bad, key)
		}
	}
}

func FuzzAnIDHasOneSpelling(f *testing.F) {
	f.Add("trn_" + strings.Repeat("A", 64))
	f.Fuzz(func(t *testing.T, id string) {
		key, ok := turn.KeyOfID(id)
		if !ok {
			if key != "" {
				t.Fatalf("%q is no id and has the key %q", id, key)
			}
			return
		}
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, "trn_"))
		if err != nil || len(raw) != 48 || "trn_"+base64.RawURLEncoding.EncodeToString(raw) != id {
			t.Fatalf("%q has another spelling", id)
		}
		if string(key) != "N#"+base64.RawURLEncoding.EncodeToString(raw[:32]) {
			t.Fatalf("%q has the key %q", id, key)
		}
	})
}

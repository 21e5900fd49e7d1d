package exchange_test

import (
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/exchange"
)

// TestRequestsOfEverySizeArriveWhole: large bodies are written apart from their
// heads, in buffers that calls share one after another.
func TestRequestsOfEverySizeArriveWhole(t *testing.T) {
	p := newPeer(t, modern(func(w net.Conn, g got) {
		write(w, 200, "application/json", result(g, `{"resultType":"complete","content":[]}`))
	}))
	x := process(t, nil)
	var calls sync.WaitGroup
	sizes := []int{0, 1 << 10, 16<<10 - 200, 16 << 10, 16<<10 + 1, 300 << 10, 1 << 20, 100, 17 << 10}
	for i, size := range sizes {
		arguments := `{"i":` + string(rune('0'+i)) + `,"text":"` + strings.Repeat(string(rune('a'+i)), size) + `"}`
		calls.Go(func() {
			for range 3 {
				if _, err := x.Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Arguments = json.RawMessage(arguments) })); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
		})
	}
	calls.Wait()
	seen := map[string]int{}
	for _, g := range p.all() {
		if g.Method == "tools/call" {
			var body struct {
				Params struct{ Arguments struct{ Text string } }
			}
			if err := json.Unmarshal(g.Body, &body); err != nil {
				t.Fatal(err)
			}
			text := body.Params.Arguments.Text
			if text != "" && strings.Trim(text, text[:1]) != "" {
				t.Error("a body holds bytes of another call")
			}
			seen[text[:min(1, len(text))]] += len(text)
		}
	}
	for i, size := range sizes {
		letter := string(rune('a' + i))
		if size > 0 && seen[letter] != 3*size {
			t.Errorf("%d bytes of %d arrived", seen[letter], 3*size)
		}
	}
}

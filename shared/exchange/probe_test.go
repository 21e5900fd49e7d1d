package exchange_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAVersionThatIsRefusedAndNamed: the server may be two, one of them newer,
// so the question is put once more, and not for ever.
func TestAVersionThatIsRefusedAndNamed(t *testing.T) {
	const D, C = "server/discover", "tools/call"
	refused := unsupported(400, `["2026-07-28"]`)
	for name, tc := range map[string]struct {
		times int32
		want  []string
		fails bool
	}{
		"once":  {1, []string{D, D, C}, false},
		"twice": {2, []string{D, D}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			p := handshakePeer(t, handshake{C: anything, D: func(w net.Conn, g got) {
				if asked.Add(1) <= tc.times {
					refused(w, g)
					return
				}
				saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"]}}`)(w, g)
			}})
			_, err := process(t, newStore()).Call(t.Context(), request(t, p.url))
			if (err != nil) != tc.fails {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(tc.want, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

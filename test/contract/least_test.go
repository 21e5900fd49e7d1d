package contract_test

import "testing"

// The least number of checks that must have run against each peer. A check
// that is added counts these up, where the peer can run it.
const (
	leastSQLite   = 125
	leastDynalite = 121
	leastMoto     = 104
)

func TestEveryCheckThatAPeerCanRunIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		lacks []need
		least int
	}{
		"sqlite":   {[]need{tenantNames}, leastSQLite},
		"dynalite": {[]need{secrets, tenantNames}, leastDynalite},
		"moto":     {[]need{concurrency, manyReads}, leastMoto},
	} {
		can := 0
		for _, c := range checks() {
			if (peer{lacks: tt.lacks}).has(c.need) {
				can++
			}
		}
		if can != tt.least {
			t.Errorf("%s: it can run %d checks, and %d are asked for", name, can, tt.least)
		}
	}
}

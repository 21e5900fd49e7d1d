package faults_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"mcprelay/shared/store/local"
	"mcprelay/test/canary"
	"mcprelay/test/hostile"
)

// row is one row of the matrix. Each stands for its whole kind: its test
// varies within it.
type row struct {
	number int
	rule   string
	test   func(*testing.T, *stage)
}

// rows are all rows, by where the fault is.
func rows() (all []row) {
	for _, part := range [][]row{credentials(), addresses(), redirects(), sockets(), bodies(), messages(), sessions()} {
		all = append(all, part...)
	}
	return all
}

func TestRows(t *testing.T) {
	k := newStage(t)
	for _, r := range rows() {
		t.Run(fmt.Sprintf("%d %s", r.number, r.rule), func(t *testing.T) {
			t.Parallel() // most of a row's time is spent waiting for the disk
			r.test(t, k)
		})
	}
}

// The rows of the matrix that concern a server: 18 to 45 and 61, and 46 and
// 52, which need one.
func TestEveryNumberHasItsRow(t *testing.T) {
	wanted := map[int]bool{46: true, 52: true, 61: true}
	for number := 18; number <= 45; number++ {
		wanted[number] = true
	}
	for _, r := range rows() {
		if !wanted[r.number] || r.rule == "" || r.test == nil {
			t.Errorf("%d %s: of no row, or the second test of one", r.number, r.rule)
		}
		delete(wanted, r.number)
	}
	delete(wanted, 22) // TestRows22And23AtPublicAddresses
	for number := range wanted {
		t.Errorf("row %d has no test", number)
	}
}

// stage is what all rows share: one store, in which each scene is a tenant, and
// the places where nobody may connect.
type stage struct {
	store    *local.Store
	last     atomic.Int64
	canaries map[string]*canary.Canary
}

// newStage listens where nobody may connect: where redirects lead, on further
// loopback addresses, and behind every proxy that the environment can name.
func newStage(t *testing.T) *stage {
	t.Helper()
	k := &stage{store: hostile.Open(t), canaries: map[string]*canary.Canary{}}
	for _, address := range []string{"127.0.0.1:0", "127.0.0.2:0", "[::1]:0"} {
		k.canaries[address] = canary.Listen(t, address)
	}
	proxy := canary.Listen(t, "127.0.0.1:0")
	k.canaries["the proxy"] = proxy
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.Addr().String())
		t.Setenv(strings.ToLower(name), "http://"+proxy.Addr().String())
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// trap is the address of a canary.
func (k *stage) trap() string { return k.canaries["127.0.0.1:0"].Addr().String() }

// hits are the connections that the canaries have seen.
func (k *stage) hits() map[string]int {
	seen := map[string]int{}
	for where, c := range k.canaries {
		seen[where] = c.Hits()
	}
	return seen
}

// set makes a server and a relay that has never heard of it.
func (k *stage) set(t *testing.T, o hostile.Options, s hostile.Setup) *scene {
	t.Helper()
	return k.before(t, hostile.Start(t, o), s)
}

// before makes a new relay of a new tenant in front of a server.
func (k *stage) before(t *testing.T, up *hostile.Server, s hostile.Setup) *scene {
	t.Helper()
	s.Store, s.Tenant = k.store, fmt.Sprintf("tenant-%d", k.last.Add(1))
	scene := &scene{
		t: t, stage: k, setup: s, up: up, said: map[string]bool{},
		watch: &watch{up: up, before: up.Calls(), ids: map[string]bool{}, read: map[string]int{}}, secrets: []string{hostile.Token},
	}
	return scene.again(s.Server)
}

// again makes another process of the same relay, with further keys of its
// server's config, and goes on with that.
func (s *scene) again(keys hostile.Keys) *scene {
	s.t.Helper()
	s.setup.Server = keys
	s.relay = hostile.Relay(s.t, s.up, s.setup)
	s.watch.join(s.relay)
	return s
}

// warm is set with a first call behind it.
func (k *stage) warm(t *testing.T, era hostile.Era, s hostile.Setup) *scene {
	t.Helper()
	scene := k.set(t, hostile.Options{Era: era}, s)
	scene.ask(hostile.Ask{}, want{session: hostile.Fresh(era), opened: hostile.Opens(era)})
	return scene
}

// eras runs a test for a warm server of either era. That some legacy servers
// have no sessions matters where sessions do.
func (k *stage) eras(t *testing.T, s hostile.Setup, test func(*testing.T, *scene)) {
	t.Helper()
	for _, era := range []hostile.Era{hostile.Modern, hostile.Legacy} {
		t.Run(string(era), func(t *testing.T) { test(t, k.warm(t, era, s)) })
	}
}

// cold runs a test for a server of each era that the relay has never heard of.
func (k *stage) cold(t *testing.T, s hostile.Setup, test func(*testing.T, *scene)) {
	t.Helper()
	for _, era := range hostile.Eras() {
		t.Run(string(era), func(t *testing.T) { test(t, k.set(t, hostile.Options{Era: era}, s)) })
	}
}

package tenants_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/registry"
)

const (
	seed   = 20260728
	worlds = 100_000 // make soak
	// The race detector makes a world cost ten times as much.
	racedWorlds = 2_000
	steps       = 4  // of each tenant in a world
	answering   = 40 // one of so many worlds has an upstream that answers
	// maxTime ends the search with the race detector on a machine that is too
	// busy for all of it.
	maxTime   = 18 * time.Second
	fewWorlds = 1_000 // that have to be seen even there
)

// tally counts what was seen, so that a search that finds nothing has looked.
type tally struct {
	worlds, listed, answered, refused, guessed, stolen atomic.Int64
}

func TestNoTenantSeesAWordOfTheOther(t *testing.T) {
	p, n, end := newPool(t), int64(worlds), time.Now().Add(24*time.Hour)
	if raced() {
		n, end = racedWorlds, time.Now().Add(maxTime)
	}
	var next, failed atomic.Int64
	var seen tally
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1); i <= n && failed.Load() == 0 && (i <= fewWorlds || time.Now().Before(end)); i = next.Add(1) {
				if found := p.search(t.Context(), uint64(i), &seen); found != "" {
					failed.Add(1)
					t.Errorf("world %d: %s", i, found)
				}
				seen.worlds.Add(1)
			}
		})
	}
	workers.Wait()
	t.Logf("%d worlds: %d lists with something in them, %d answers, %d refusals, %d guesses, %d stolen turns",
		seen.worlds.Load(), seen.listed.Load(), seen.answered.Load(), seen.refused.Load(), seen.guessed.Load(), seen.stolen.Load())
	for what, count := range map[string]*atomic.Int64{"worlds": &seen.worlds, "lists": &seen.listed, "refusals": &seen.refused, "guesses": &seen.guessed} {
		if count.Load() < fewWorlds/2 {
			t.Errorf("only %d %s", count.Load(), what)
		}
	}
	if seen.answered.Load() == 0 || seen.stolen.Load() == 0 {
		t.Error("no call was answered, or no turn stolen")
	}
}

// raced reports whether the race detector watches.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// search looks through one world. It says what it found, empty for nothing.
func (p *pool) search(ctx context.Context, n uint64, seen *tally) string {
	r := rand.New(rand.NewPCG(seed, n))
	of := map[string]chance{amber: {r, p, amber}, birch: {r, p, birch}}
	tenants := map[string]*registry.Tenant{amber: of[amber].registration(), birch: of[birch].registration()}
	var script []*step
	for i := range 2 * steps {
		script = append(script, of[[2]string{amber, birch}[i%2]].step(i))
	}
	r.Shuffle(len(script), func(i, j int) { script[i], script[j] = script[j], script[i] })

	answers := n%answering == 0
	both := p.start(tenants, answers)
	told := map[string][]string{}
	for _, s := range script {
		text := both.saw(ctx, s)
		tenant := s.call.Principal.Tenant
		told[tenant] = append(told[tenant], text)
		seen.note(s, text)
		if !s.guess && strings.Contains(strings.ToLower(text), other(tenant)) {
			return tenant + " was shown " + text
		}
	}
	if found := both.trail(script); found != "" {
		return found
	}
	// One of them alone has to see the same; in every second world, for time.
	if n%2 == 1 {
		return ""
	}
	tenant := [2]string{amber, birch}[n/2%2]
	alone := p.start(map[string]*registry.Tenant{tenant: tenants[tenant]}, answers)
	var again []string
	for _, s := range script {
		if s.call.Principal.Tenant == tenant {
			again = append(again, alone.saw(ctx, s))
		}
	}
	return differ(slices.Concat(told[tenant], both.of(tenant)), slices.Concat(again, alone.of(tenant)))
}

func (p *pool) start(tenants map[string]*registry.Tenant, answers bool) *run {
	w := p.world(tenants, answers)
	return &run{world: w, relay: w.relay(), turns: map[string]string{}}
}

// trail looks through the records, and through the secrets that were read.
func (r *run) trail(script []*step) string {
	guesses := map[string]bool{}
	for _, s := range script {
		guesses[s.call.ID] = s.guess
	}
	for _, record := range r.records {
		text, err := json.Marshal(record)
		if err != nil {
			return err.Error()
		}
		caller, _, _ := strings.Cut(record.CallID, "-")
		if caller != "own" && caller != record.Tenant || !guesses[record.CallID] && strings.Contains(strings.ToLower(string(text)), other(record.Tenant)) {
			return "the record of " + record.Tenant + " says " + string(text)
		}
	}
	for _, read := range r.reads {
		if tenant, env, _ := strings.Cut(read, " "); !strings.HasPrefix(strings.ToLower(env), tenant) {
			return "a secret was read: " + read
		}
	}
	return ""
}

// of are a tenant's records, but for the ids of turns, which are random,
// and for sizes, which the ids of requests are part of.
func (r *run) of(tenant string) (records []string) {
	for _, record := range r.records {
		if strings.HasPrefix(record.CallID, tenant+"-") {
			record.Turn, record.BytesIn, record.BytesOut = "", 0, 0
			text, _ := json.Marshal(record) // checked above
			records = append(records, string(text))
		}
	}
	return records
}

// differ is the first difference.
func differ(with, without []string) string {
	for i := range min(len(with), len(without)) {
		if with[i] != without[i] {
			return "beside the other: " + with[i] + "\nalone:            " + without[i]
		}
	}
	if len(with) != len(without) {
		return "there are more or fewer records beside the other"
	}
	return ""
}

func (n *tally) note(s *step, text string) {
	for count, yes := range map[*atomic.Int64]bool{
		&n.listed:   strings.Contains(text, `"inputSchema"`),
		&n.answered: strings.Contains(text, `"resultType":"complete"`),
		&n.refused:  strings.Contains(text, "true") || strings.Contains(text, "false"),
		&n.guessed:  s.guess,
		&n.stolen:   s.turn == "stolen" && s.stolen != "",
	} {
		if yes {
			count.Add(1)
		}
	}
}

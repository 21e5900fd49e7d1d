package cases_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
	"mcprelay/test/hostile"
)

// row is one case. Each stands for its whole kind: its test varies within it.
type row struct {
	number string
	rule   string
	test   func(*testing.T, *stage)
}

// rows are all cases, by section.
func rows() (all []row) {
	for _, section := range [][]row{
		notifications(), framing(), streams(), contents(), statuses(),
		sessions(), isolation(), versions(), detection(), requests(), lists(), names(), results(), redirects(), hosts(),
	} {
		all = append(all, section...)
	}
	return all
}

func TestRows(t *testing.T) {
	k := &stage{store: hostile.Open(t)}
	for _, r := range rows() {
		t.Run(r.number+" "+r.rule, func(t *testing.T) {
			t.Parallel() // most of a row's time is spent waiting for the disk
			r.test(t, k)
		})
	}
}

func TestEveryNumberHasItsRow(t *testing.T) {
	text, err := os.ReadFile("testdata/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, number := range strings.Fields(line) {
			wanted[number] = true
		}
	}
	for _, r := range rows() {
		if !wanted[r.number] || r.rule == "" {
			t.Errorf("%s %s: of no case, or the second row of one", r.number, r.rule)
		}
		delete(wanted, r.number)
	}
	for number := range wanted {
		t.Errorf("%s has no row", number)
	}
}

// stage is what all rows share: one store, in which each scene is a tenant.
type stage struct {
	store *local.Store
	last  atomic.Int64
}

// scene is a server with a relay in front of it.
type scene struct {
	t     *testing.T
	up    *hostile.Server
	relay *hostile.Front
	stage *stage
	setup hostile.Setup
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
	return &scene{t: t, up: up, relay: hostile.Relay(t, up, s), stage: k, setup: s}
}

// again makes another process of the same relay: same store, same tenant.
func (s *scene) again() *scene {
	s.t.Helper()
	other := *s
	other.relay = hostile.Relay(s.t, s.up, s.setup)
	return &other
}

// warm is set with a first call behind it.
func (k *stage) warm(t *testing.T, era hostile.Era, s hostile.Setup) *scene {
	t.Helper()
	scene := k.set(t, hostile.Options{Era: era}, s)
	scene.relay.Call(t, hostile.Ask{}).Answered("")
	return scene
}

// eras runs a test for a warm server of each era.
func (k *stage) eras(t *testing.T, s hostile.Setup, test func(*testing.T, *scene)) {
	t.Helper()
	for _, era := range hostile.Eras() {
		t.Run(string(era), func(t *testing.T) { test(t, k.warm(t, era, s)) })
	}
}

// none is zero where a zero field means the usual.
const none = -1

// want is what a case must come to. Exactly one of failure and reason may be
// set; without both the server's result came through.
type want struct {
	result  string // to the byte; empty: any
	failure string // the server's error object, to the byte
	reason  call.Reason
	effect  call.Impact
	calls   int // tools/call that the server saw, and that the record counts; 0: one
	opened  int // initialize
	ended   int // DELETE
	session string
	status  int // the server's last, in the record; 0: any
}

// ask makes one call and holds the agent's reply, the server's counts and the
// record against what is wanted.
func (s *scene) ask(a hostile.Ask, w want) hostile.Reply {
	s.t.Helper()
	calls, opened, ended := s.up.Calls(), s.up.Count("initialize"), s.up.Count("DELETE")
	reply := s.relay.Call(s.t, a)
	switch {
	case w.reason != "":
		reply.Refused(w.reason, w.effect)
	case w.failure != "":
		s.failed(reply, w.failure)
	default:
		reply.Answered(w.result)
	}
	s.counted("tools/call", s.up.Calls()-calls, max(orOne(w.calls), 0))
	s.counted("initialize", s.up.Count("initialize")-opened, w.opened)
	s.counted("DELETE", s.up.Count("DELETE")-ended, w.ended)
	if reply.Record.Posts != max(orOne(w.calls), 0) {
		s.t.Errorf("the record counts %d POSTs, want %d", reply.Record.Posts, max(orOne(w.calls), 0))
	}
	if w.session != "" && reply.Record.Session != w.session {
		s.t.Errorf("the record says session %q, want %q", reply.Record.Session, w.session)
	}
	if w.status != 0 && reply.Record.Status != w.status {
		s.t.Errorf("the record says status %d, want %d", reply.Record.Status, w.status)
	}
	return reply
}

func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return n
}

func (s *scene) counted(what string, got, want int) {
	s.t.Helper()
	if got != want {
		all := s.up.Sequence()
		s.t.Errorf("the server saw %d %s, want %d: ...%v", got, what, want, all[max(0, len(all)-8):])
	}
}

// failed fails the test unless the agent got the server's own error, in a 200.
func (s *scene) failed(reply hostile.Reply, want string) {
	s.t.Helper()
	if got := reply.ErrorText(); got != want || reply.Status != 200 {
		s.t.Errorf("got status %d, error\n%s\nwant\n%s", reply.Status, got, want)
	}
	if reply.Record.Outcome != call.Answered || reply.Record.Reason != call.RPCError {
		s.t.Errorf("the record says %s, %s, want an answer that is an error", reply.Record.Outcome, reply.Record.Reason)
	}
}

// hello is a result that needs no field of either era.
const hello = `{"content":[{"type":"text","text":"hello <&> \u00e9"}]}`

// response is the message that carries it.
const response = `{"jsonrpc":"2.0","id":$ID,"result":` + hello + `}`

// variant is one spelling of a case.
type variant struct {
	name   string
	script hostile.Script
}

// each asks once a variant and wants the same of all.
func (s *scene) each(variants []variant, w want) {
	s.t.Helper()
	for _, v := range variants {
		s.under(v.name, func(s *scene) {
			s.up.On("tools/call", v.script)
			s.ask(hostile.Ask{}, w)
		})
	}
}

// under runs a part of a case in a subtest of its own.
func (s *scene) under(name string, part func(*scene)) {
	s.t.Helper()
	s.t.Run(name, func(t *testing.T) {
		inner := *s
		inner.t = t
		part(&inner)
	})
}

// echoed is the result of an honest call.
func echoed(up *hostile.Server, arguments string) string {
	return strings.ReplaceAll(up.Echo(), "$ARGUMENTS", arguments)
}

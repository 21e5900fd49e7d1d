package stdio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

const (
	discover    = "server/discover"
	initialize  = "initialize"
	initialized = " notifications/initialized"
)

// TestEachServerIsOpenedInItsEra takes the kinds of servers one by one: what
// they are sent before the call, and what is agreed.
func TestEachServerIsOpenedInItsEra(t *testing.T) {
	tests := map[string]struct {
		script  script
		sent    string
		era     string
		version string
		took    time.Duration
	}{
		"modern":                         {script{Era: "modern"}, discover, stdio.Modern, "2026-07-28", 0},
		"modern after banners":           {script{Era: "modern", Banner: 30}, discover, stdio.Modern, "2026-07-28", 0},
		"both":                           {script{Era: "either"}, discover, stdio.Modern, "2026-07-28", 0},
		"names none but the modern":      {script{Offers: []string{"2099-01-01", "2026-07-28"}}, discover, stdio.Modern, "2026-07-28", 0},
		"discovers, but speaks legacy":   {script{Era: "either", Offers: []string{"2025-06-18"}}, discover + " " + initialize + initialized, stdio.Legacy, "2025-06-18", 0},
		"refuses the modern version":     {script{Era: "neither", Refuses: []string{"2026-07-28"}, Offers: []string{"2025-11-25"}}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"legacy":                         {script{Era: "legacy"}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"legacy, of an older revision":   {script{Era: "legacy", Picks: "2024-11-05"}, discover + " " + initialize + initialized, stdio.Legacy, "2024-11-05", 0},
		"legacy, takes one version only": {script{Era: "legacy", Only: "2025-03-26"}, discover + " " + initialize + " " + initialize + initialized, stdio.Legacy, "2025-03-26", 0},
		"initialize names the modern":    {script{Era: "legacy", Only: "2026-07-28"}, discover + " " + initialize, stdio.Modern, "2026-07-28", 0},
		"legacy, error without an id":    {script{Era: "legacy", NoID: discover}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"legacy, nonsense to discover":   {script{Era: "legacy", Odd: discover}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"says nothing to discover":       {script{Era: "mute"}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", stdio.ProbeTime},
		"modern, but slow to start":      {script{Era: "late"}, discover + " " + initialize, stdio.Modern, "2026-07-28", stdio.ProbeTime},
		"ends when it is sent discover":  {script{Era: "shy"}, initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"an error that only modern has":  {script{Fails: discover, Code: -32020}, discover, stdio.Modern, "2026-07-28", 0},
		"another that only modern has":   {script{Fails: discover, Code: -32021}, discover, stdio.Modern, "2026-07-28", 0},
		"an error that anybody has":      {script{Era: "either", Fails: discover, Code: -32000}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"a result that says nothing":     {script{Era: "blank"}, discover + " " + initialize + initialized, stdio.Legacy, "2025-11-25", 0},
		"a result that is modern":        {script{Era: "terse"}, discover, stdio.Modern, "2026-07-28", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := staged(tt.script)
				defer shut(t, p)
				began := time.Now()
				reply := result(t, p, ask(stdio.Spec{}, "echo"))
				if reply.Facts.Era != tt.era || reply.Facts.Version != tt.version {
					t.Errorf("got %s %s, want %s %s", reply.Facts.Era, reply.Facts.Version, tt.era, tt.version)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if got, want := methodsOf(t, p, ask(stdio.Spec{}, "")), tt.sent+" tools/call tools/call"; got != want {
					t.Errorf("it was sent %s, want %s", got, want)
				}
			})
		})
	}
}

// TestAServerThatDiscoverHarmedIsInitializedFirst restarts such servers.
func TestAServerThatDiscoverHarmedIsInitializedFirst(t *testing.T) {
	for name, s := range map[string]script{"ends": {Era: "shy"}, "says nothing": {Era: "mute"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, starts := staged(s)
				defer shut(t, p)
				r := ask(stdio.Spec{}, "echo")
				result(t, p, r)
				before := starts.Load()
				r.Tool = "crash 1"
				refused(t, within(t), p, r)
				if got, want := methodsOf(t, p, r), initialize+initialized+" tools/call"; got != want {
					t.Errorf("the next child was sent %s, want %s", got, want)
				}
				if got := starts.Load() - before; got != 1 {
					t.Errorf("%d more starts, want 1", got)
				}
			})
		})
	}
}

// TestAnEndAtDiscoverIsNoFailure: only what comes of initialize counts for the
// pause before the next start.
func TestAnEndAtDiscoverIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{Era: "shy", Fails: initialize})
		defer shut(t, p)
		for i, pause := range []time.Duration{0, stdio.DefaultBackoff, 2 * stdio.DefaultBackoff} {
			began := time.Now()
			got, _ := refused(t, t.Context(), p, ask(stdio.Spec{Attempts: -1}, "echo"))
			want(t, got, call.InitializeFailed, call.ImpactNone)
			if took := time.Since(began); took != pause {
				t.Errorf("call %d: start %d came after %v, want %v", i, starts.Load(), took, pause)
			}
		}
	})
}

// TestAServerThatLeftTheLegacyEraIsAskedAgain has a server replaced by a
// modern one after discover had harmed it.
func TestAServerThatLeftTheLegacyEraIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := staged(script{Era: "mute"}, script{Era: "modern"})
		defer shut(t, p)
		r := ask(stdio.Spec{}, "crash 1")
		refused(t, within(t), p, r)
		r.Tool = "echo"
		if got := result(t, p, r).Facts; got.Era != stdio.Modern || got.Session != stdio.SessionRenewed {
			t.Errorf("got %+v, want a modern child in place of the other", got)
		}
		if got, want := methodsOf(t, p, r), initialize+" "+discover+" tools/call tools/call"; got != want {
			t.Errorf("it was sent %s, want %s", got, want)
		}
	})
}

// TestAServerThatDoesNotOpenIsRefused: nothing of the request was written.
func TestAServerThatDoesNotOpenIsRefused(t *testing.T) {
	tests := map[string]struct {
		script script
		reason call.Reason
		took   time.Duration
		starts int64
	}{
		"no common version named":   {script{Offers: []string{"2099-01-01"}}, call.NoCommonVersion, 0, 1},
		"no version named":          {script{Offers: []string{}}, call.NoCommonVersion, 0, 1},
		"refuses what it names":     {script{Era: "neither", Refuses: []string{"2026-07-28"}, Offers: []string{"2026-07-28"}}, call.NoCommonVersion, 0, 1},
		"picks an unknown version":  {script{Era: "legacy", Picks: "2023-01-01"}, call.NoCommonVersion, 0, 1},
		"picks the modern version":  {script{Era: "legacy", Picks: "2026-07-28"}, call.NoCommonVersion, 0, 1},
		"refuses initialize":        {script{Era: "legacy", Fails: initialize}, call.InitializeFailed, 0, 1},
		"initializes with nonsense": {script{Era: "legacy", Odd: initialize}, call.InitializeFailed, 0, 1},
		"says nothing at all":       {script{Era: "mute", Stuck: initialize}, call.OpenTimeout, 10 * time.Second, 1},
		"reads nothing at all":      {script{Stuck: discover}, call.OpenTimeout, 10 * time.Second, 1},
		"ends before it reads":      {script{Dies: 3}, call.ProcessFailed, stdio.DefaultBackoff, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, starts := staged(tt.script)
				defer shut(t, p)
				began := time.Now()
				got, facts := refused(t, context.Background(), p, ask(stdio.Spec{}, "echo"))
				want(t, got, tt.reason, call.ImpactNone)
				if facts.Requests != 0 || facts.Era != "" {
					t.Errorf("facts %+v of a child that was never opened", facts)
				}
				if took := time.Since(began); took != tt.took || starts.Load() != tt.starts {
					t.Errorf("%d starts in %v, want %d in %v", starts.Load(), took, tt.starts, tt.took)
				}
			})
		})
	}
}

// TestAVersionThatIsRefusedIsChangedOnce: -32022 says that nothing ran.
func TestAVersionThatIsRefusedIsChangedOnce(t *testing.T) {
	tests := map[string]struct {
		script script
		sent   string
		era    string
		reason call.Reason
	}{
		"down to legacy":      {script{Era: "either", Refuses: []string{"2026-07-28"}, Offers: []string{"2026-07-28", "2025-11-25"}}, initialize + initialized + " tools/call", stdio.Legacy, ""},
		"to nothing we speak": {script{Era: "either", Refuses: []string{"2026-07-28"}, Offers: []string{"2026-07-28", "2099-01-01"}}, "", "", call.NoCommonVersion},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := staged(tt.script)
				defer shut(t, p)
				reply, err := p.Call(within(t), ask(stdio.Spec{}, "echo"))
				if tt.reason != "" {
					want(t, refusalOf(t, err), tt.reason, call.ImpactNone)
					return
				}
				if err != nil || reply.Error != nil || reply.Facts.Era != tt.era || reply.Facts.Requests != 2 {
					t.Fatalf("got %+v, error %v", reply, err)
				}
				if got, want := methodsOf(t, p, ask(stdio.Spec{}, "")), discover+" tools/call "+tt.sent+" tools/call"; got != want {
					t.Errorf("it was sent %s, want %s", got, want)
				}
			})
		})
	}
}

// TestOnlyAServersOwnWordsRefuseAVersion: a tool may speak of versions too,
// after it ran, and its error is an answer.
func TestOnlyAServersOwnWordsRefuseAVersion(t *testing.T) {
	const list = `,"data":{"supported":["2025-06-18"]}}`
	tests := map[string]struct {
		failure string
		refuses bool
	}{
		"the code":                         {`{"code":-32022,"message":"x"` + list, true},
		"the code, listing what was asked": {`{"code":-32022,"message":"x","data":{"supported":["2026-07-28","2025-06-18"]}}`, true},
		"the code without a list":          {`{"code":-32022,"message":"x"}`, false},
		"the code with an empty list":      {`{"code":-32022,"message":"x","data":{"supported":[]}}`, false},
		"an SDK's words":                   {`{"code":-32602,"message":"Unsupported protocol version"` + list, true},
		"another SDK's words":              {`{"code":-32600,"message":"Bad Request: Unsupported Protocol Version: 2026-07-28"` + list, true},
		"a tool's words":                   {`{"code":-32000,"message":"protocol version 3 is not supported"` + list, false},
		"a tool's words, a server's code":  {`{"code":-32602,"message":"protocol version 3 is not supported"` + list, false},
		"an SDK's words, a tool's code":    {`{"code":-32000,"message":"Unsupported protocol version"` + list, false},
		"an internal error":                {`{"code":-32603,"message":"Unsupported protocol version"` + list, false},
		"the words further on":             {`{"code":-32602,"message":"the peer: unsupported protocol version"` + list, false},
		"the words only begun":             {`{"code":-32602,"message":"Unsupported protocol"` + list, false},
		"words without a list":             {`{"code":-32602,"message":"Unsupported protocol version"}`, false},
		"words with an empty list":         {`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":[]}}`, false},
		"words with a list of others":      {`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18","3"]}}`, false},
		"words, listing what was asked":    {`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-06-18"]}}`, false},
		"a list without words":             {`{"code":-32602,"message":"no such format"` + list, false},
	}
	for name, tt := range tests {
		for era, refuses := range map[string]bool{"either": tt.refuses, "legacy": false} { // a request to a legacy server names no version
			t.Run(name+", "+era, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, _ := staged(script{Era: era})
					defer shut(t, p)
					r := ask(stdio.Spec{}, "raw")
					r.Arguments, _ = json.Marshal(map[string][]string{"Lines": {`{"jsonrpc":"2.0","id":$ID,"error":` + tt.failure + `}`}})
					reply, err := p.Call(within(t), r)
					if err != nil || reply.Error == nil || string(reply.Error.Raw) != tt.failure {
						t.Errorf("got %+v, error %v, want the server's error", reply, err)
					}
					if got := reply.Facts.Requests == 2; got != refuses {
						t.Errorf("%d requests; asked again: %v, want %v", reply.Facts.Requests, got, refuses)
					}
					if log := strings.Join(logOf(t, p, r), "\n"); strings.Contains(log, `"protocolVersion":"2025-06-18"`) != refuses {
						t.Errorf("it was sent %s", log)
					}
				})
			})
		}
	}
}

func TestAnAgentThatLeavesWhileAServerStartsEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := staged(script{Era: "mute", Stuck: initialize})
		defer shut(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		got, _ := refused(t, ctx, p, ask(stdio.Spec{}, "echo"))
		want(t, got, call.Cancelled, call.ImpactNone)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v, want 1 s", took)
		}
	})
}

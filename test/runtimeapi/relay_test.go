package runtimeapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/netns"
	"mcprelay/test/runtimeapi"
)

// TestTheRealBootstrap runs functions/relay as Lambda does, in a network of
// its own: its guard cannot be opened by configuration, so the upstreams are
// on a private network that the registration allows, under real names and TLS.
func TestTheRealBootstrap(t *testing.T) {
	netns.Run(t, network(), func(t *testing.T) {
		w := newWorld(t)
		for _, test := range []struct {
			name string
			run  func(*testing.T, *world)
		}{
			{"every event of events/relay", everyEvent},
			{"a process killed between intent and final leaves the intent", killedInACall},
			{"a deadline that is near at arrival refuses the call", noTimeLeft},
			{"a deadline inside the call ends it with a final", deadlineInACall},
			{"a second process reuses the session that the first has stored", sharedSession},
			{"a turn that one process opens holds in another, until the next", turnsAcrossProcesses},
			{"a budget that is spent by others is spent", spentBudget},
			{"callers of issuers call in every process as who they are", callersOfIssuers},
			{"forged tokens come nowhere", forgedTokens},
			{"keys at private places are never read", keysAtPrivatePlaces},
			{"the edge check turns away who is surely refused", edgeCheck},
			{"the edge check lets pass what it cannot tell, and the relay refuses it", edgeWithoutStore},
			{"a function without its configuration ends with one sentence", unconfigured},
			{"agents are served through the gateway by several processes", throughGateway},
			{"progress reaches the agent while the upstream works", progressStreams},
			{"an agent that leaves ends the call upstream", readerLeaves},
			{"the official emulator runs the same bootstrap", underTheOfficialEmulator},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(t, w) })
		}
	})
}

// calling is the event of a plain call.
func calling(t *testing.T, server, tool string) []byte {
	t.Helper()
	e, _ := load(t, "plain-answered")
	e.Path = "/v1/servers/" + server + "/tools/" + tool
	return encode(t, e)
}

func killedInACall(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	before := w.records(t)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Invoke(t.Context(), calling(t, "slow", "work"))
		failed <- err
	}()
	w.slow.wait(t)
	s.Kill()
	if err := <-failed; !errors.Is(err, runtimeapi.ErrDied) {
		t.Errorf("the gateway got %v, want %v", err, runtimeapi.ErrDied)
	}
	if got := since(before, w.records(t)); len(got) != 1 || got[0] != "intent  " {
		t.Errorf("the trail has gained %q, want one intent", got)
	}
	reply, err := s.Invoke(t.Context(), calling(t, "docs", "test_simple_text"))
	if err != nil || reply.Status != 200 {
		t.Fatalf("the next process: %v, %v", reply, err)
	}
	reply.Body.Close()
}

func noTimeLeft(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	before := w.records(t)
	requests, _ := w.reached()
	reply, err := s.InvokeUntil(t.Context(), calling(t, "docs", "test_simple_text"), 1900*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.Status != 503 || !strings.Contains(string(body), `"no_time"`) {
		t.Errorf("got %d %s, %v, want 503 no_time", reply.Status, body, err)
	}
	if got := since(before, w.records(t)); len(got) != 1 || got[0] != "final rejected no_time" {
		t.Errorf("the trail has gained %q, want a rejection", got)
	}
	if after, _ := w.reached(); after != requests {
		t.Errorf("upstreams saw %d requests, want none", after-requests)
	}
}

func deadlineInACall(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	before := w.records(t)
	start := time.Now()
	reply, err := s.InvokeUntil(t.Context(), calling(t, "slow", "work"), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.Status != 504 || !strings.Contains(string(body), `"effect":"unknown"`) {
		t.Errorf("got %d %s, %v, want 504 and an unknown effect", reply.Status, body, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the reply took %v, the function had 5 s", took)
	}
	got := since(before, w.records(t))
	if len(got) != 1 || got[0] != "final no_answer call_timeout" && got[0] != "final no_answer head_timeout" {
		t.Errorf("the trail has gained %q, want one timeout", got)
	}
	if s.Starts() != 1 {
		t.Errorf("the process was killed, %d were started", s.Starts())
	}
}

func sharedSession(t *testing.T, w *world) {
	initializes := w.legacy.Posts("initialize")
	for range 2 {
		s := w.start(t, runtimeapi.Options{}) // its own process
		e, _ := load(t, "plain-echo-exact-numbers")
		e.Headers["X-Relay-Run"] = "shared"
		e.MultiValueHeaders["X-Relay-Run"] = []string{"shared"}
		reply, err := s.InvokeEvent(t.Context(), e)
		if err != nil || reply.Status != 200 {
			t.Fatalf("got %v, %v", reply, err)
		}
		if _, err := io.ReadAll(reply.Body); err != nil {
			t.Error(err)
		}
		reply.Body.Close()
	}
	if got := w.legacy.Posts("initialize") - initializes; got != 1 {
		t.Errorf("the server saw %d initializes, want 1", got)
	}
	if r := w.records(t)[0]; r.Session != "reused" || r.State != audit.StateFinal || r.Outcome != call.Answered {
		t.Errorf("the second call: %+v, want a reused session", r)
	}
}

func unconfigured(t *testing.T, w *world) {
	log := &output{}
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: w.bootstrap, Env: []string{"RELAY_STATE_TABLE=state"}, Log: log})
	if _, err := s.Invoke(t.Context(), nil); !errors.Is(err, runtimeapi.ErrInit) {
		t.Errorf("got %v, want %v", err, runtimeapi.ErrInit)
	}
	text := strings.TrimSpace(log.String())
	if strings.Contains(text, "\n") || !strings.Contains(text, "RELAY_REGISTRY_TABLE") {
		t.Errorf("it said %q, want one sentence that names what is missing", text)
	}
}

func throughGateway(t *testing.T, w *world) {
	server := httptest.NewServer(w.start(t, runtimeapi.Options{Processes: 2}))
	t.Cleanup(server.Close)
	results := make(chan string, 8)
	for range cap(results) {
		go func() {
			request, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/servers/docs/tools/test_simple_text", strings.NewReader(`{"arguments":{}}`))
			request.Header.Set("Authorization", "Bearer "+callerToken)
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				results <- err.Error()
				return
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			results <- response.Status + " " + string(body)
		}()
	}
	for range cap(results) {
		if got := <-results; !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "simple text response") {
			t.Errorf("got %s", got)
		}
	}
}

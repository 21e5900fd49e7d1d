package runtimeapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/test/runtimeapi"
)

// patience bounds every wait for another process.
const patience = 60 * time.Second

// build makes a bootstrap of a main package, as the Makefile does, for this machine.
func build(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "bootstrap")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", out, name)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, text)
	}
	return out
}

// output keeps what processes print.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// gate is where a streamer waits for the test.
type gate struct {
	url    string
	asked  chan string   // words, as they are asked
	answer chan struct{} // one answer each
}

func newGate(t *testing.T) *gate {
	g := &gate{asked: make(chan string, 64), answer: make(chan struct{}, 64)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.asked <- r.URL.Path[1:]
		select {
		case <-g.answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// wait returns when the streamer asks for the word.
func (g *gate) wait(t *testing.T, word string) {
	t.Helper()
	select {
	case got := <-g.asked:
		if got != word {
			t.Fatalf("the function is at %q, want %q", got, word)
		}
	case <-time.After(patience):
		t.Fatalf("the function never came to %q", word)
	}
}

// get is the event of a plain GET.
func get(path string) events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: path}
}

func invoke(t *testing.T, s *runtimeapi.Simulator, path string) *runtimeapi.Reply {
	t.Helper()
	reply, err := s.InvokeEvent(t.Context(), get(path))
	if err != nil {
		t.Fatalf("invoking %s: %v", path, err)
	}
	t.Cleanup(func() { reply.Body.Close() })
	return reply
}

func wantFirst(t *testing.T, body io.Reader) {
	t.Helper()
	text := make([]byte, len("first\n"))
	if _, err := io.ReadFull(body, text); err != nil || string(text) != "first\n" {
		t.Fatalf("got %q, %v, want the first line", text, err)
	}
}

func TestARealBootstrapBehindTheSimulator(t *testing.T) {
	bootstrap := build(t, "./streamer")
	for _, test := range []struct {
		name string
		run  func(*testing.T, string)
	}{
		{"the first byte arrives while the function still works", firstByte},
		{"a gateway keeps method, target, headers and body", throughTheGateway},
		{"a function that fails inside its stream cuts it", aborted},
		{"a gone reader is noticed and the last act done", readerGone},
		{"without a broken connection a gone reader is not noticed", readerDropped},
		{"a killed process fails its invocation and is replaced", killed},
		{"a process is killed at its timeout", timedOut},
		{"a process serves one invocation at a time", oneAtATime},
		{"the deadline reaches the request, less the reserve", deadlinePasses},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, bootstrap) })
	}
}

func firstByte(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	response, err := http.Get(server.URL + "/slow")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	wantFirst(t, response.Body)
	g.wait(t, "slow") // the function has not ended
	g.answer <- struct{}{}
	rest, err := io.ReadAll(response.Body)
	if err != nil || string(rest) != "last\n" {
		t.Errorf("got %q, %v, want the last line", rest, err)
	}
}

func throughTheGateway(t *testing.T, bootstrap string) {
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=unused"}})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	body := "{\"n\":9007199254740993,\"t\":\"<&>\u2028\"}" + strings.Repeat(" ", 1<<20)
	request, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/echo?q=a+b&q=%26", strings.NewReader(body))
	request.Host = "relay.example.com"
	request.Header["X-Any"] = []string{"one", "two"}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	want := "POST relay.example.com /echo?q=a+b&q=%26\n" + body
	if err != nil || response.StatusCode != 201 || string(got) != want || strings.Join(response.Header["X-Seen"], ",") != "one,two" {
		t.Errorf("got %d, %d bytes beginning %.60q, headers %v, %v", response.StatusCode, len(got), got, response.Header, err)
	}
}

func aborted(t *testing.T, bootstrap string) {
	log := &output{}
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=unused"}, Log: log})
	reply := invoke(t, s, "/panic")
	text, err := io.ReadAll(reply.Body)
	if string(text) != "first\n" || !errors.Is(err, runtimeapi.ErrAborted) || !strings.Contains(err.Error(), "the relay failed") {
		t.Errorf("got %q, %v, want an aborted stream", text, err)
	}
	if strings.Contains(err.Error()+log.String(), "a secret") {
		t.Errorf("the panic's value leaked: %v %s", err, log.String())
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	response, err := http.Get(server.URL + "/panic")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("a client took %q for whole", text)
	}
	if s.Starts() != 1 {
		t.Errorf("%d processes were started, want 1: a panic must not end one", s.Starts())
	}
}

func readerGone(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}, Sever: true})
	reply := invoke(t, s, "/until-gone")
	wantFirst(t, reply.Body)
	reply.Body.Close()
	g.wait(t, "final") // although the runtime library ends the process
	g.answer <- struct{}{}
	if text, err := io.ReadAll(invoke(t, s, "/deadline").Body); err != nil || s.Starts() != 2 {
		t.Errorf("got %q, %v from process %d, want a second process", text, err, s.Starts())
	}
}

func readerDropped(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}})
	reply := invoke(t, s, "/slow")
	wantFirst(t, reply.Body)
	reply.Body.Close()
	g.wait(t, "slow")
	g.answer <- struct{}{}
	if text, err := io.ReadAll(invoke(t, s, "/deadline").Body); err != nil || s.Starts() != 1 {
		t.Errorf("got %q, %v from process %d, want the first to go on", text, err, s.Starts())
	}
}

func killed(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}})
	reply := invoke(t, s, "/hang")
	wantFirst(t, reply.Body)
	g.wait(t, "hang")
	s.Kill()
	if rest, err := io.ReadAll(reply.Body); !errors.Is(err, runtimeapi.ErrDied) {
		t.Errorf("got %q, %v, want %v", rest, err, runtimeapi.ErrDied)
	}
	if text, err := io.ReadAll(invoke(t, s, "/deadline").Body); err != nil || s.Starts() != 2 {
		t.Errorf("got %q, %v from process %d, want a second process", text, err, s.Starts())
	}
}

func timedOut(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}, Timeout: 300 * time.Millisecond})
	reply := invoke(t, s, "/hang")
	if text, err := io.ReadAll(reply.Body); string(text) != "first\n" || !errors.Is(err, runtimeapi.ErrDied) {
		t.Errorf("got %q, %v, want the first line and %v", text, err, runtimeapi.ErrDied)
	}
}

func oneAtATime(t *testing.T, bootstrap string) {
	g := newGate(t)
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=" + g.url}, Processes: 2})
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			reply, err := s.InvokeEvent(t.Context(), get("/slow"))
			if err != nil {
				t.Errorf("invoking: %v", err)
				return
			}
			defer reply.Body.Close()
			if text, err := io.ReadAll(reply.Body); err != nil || string(text) != "first\nlast\n" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	g.wait(t, "slow")
	g.wait(t, "slow")
	select {
	case <-g.asked:
		t.Error("two processes work on three invocations")
	default:
	}
	for range 3 {
		g.answer <- struct{}{}
	}
	calls.Wait()
	if s.Starts() != 2 {
		t.Errorf("%d processes were started, want 2", s.Starts())
	}
}

func deadlinePasses(t *testing.T, bootstrap string) {
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: bootstrap, Env: []string{"GATE=unused"}, Timeout: 40 * time.Second})
	text, err := io.ReadAll(invoke(t, s, "/deadline").Body)
	left, bad := strconv.Atoi(string(text))
	if err != nil || bad != nil || left > 39_900 || left < 20_000 {
		t.Errorf("got %q ms left, %v, want a little under 39900", text, err)
	}
}

func TestABootstrapThatCannotStartIsReported(t *testing.T) {
	log := &output{}
	s := runtimeapi.Start(t, runtimeapi.Options{Bootstrap: build(t, "./streamer"), Log: log})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.InvokeEvent(ctx, get("/deadline")); !errors.Is(err, runtimeapi.ErrInit) {
		t.Errorf("got %v, want %v", err, runtimeapi.ErrInit)
	}
	if log.String() != "streamer: GATE must be set\n" {
		t.Errorf("got log %q, want its sentence", log.String())
	}
}

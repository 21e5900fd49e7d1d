package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"testing"

	"mcprelay/test/peers"
)

// script is a running client.mjs.
type script struct {
	in     io.Writer
	out    *bufio.Reader
	stderr *bytes.Buffer // read only once the process has ended
	wait   func()
}

// startScript runs the TypeScript SDK's client until the test ends.
func startScript(t *testing.T, endpoint, era, run string) script {
	t.Helper()
	node, module := peers.Client(t, peers.ClientTypeScript)
	sent, err := json.Marshal(headers(run))
	if err != nil {
		t.Fatal(err)
	}
	command := program(t, peers.ClientTypeScript)
	command.Dir, command.Args = ".", []string{node, "client.mjs", module, endpoint, era}
	command.Env = append(command.Env, "HEADERS="+string(sent))
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := script{in: in, out: bufio.NewReader(out), stderr: &bytes.Buffer{}, wait: sync.OnceFunc(func() { _ = command.Wait() })}
	command.Stderr = s.stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		s.wait() // it is killed with the test's context where it stays
	})
	return s
}

// reply is a line that the script prints.
type reply struct {
	Progress *struct {
		Progress, Total float64
		Message         string
	}
	Result json.RawMessage
	Error  string
}

// put hands the script a question.
func (s script) put(t *testing.T, q question) {
	t.Helper()
	line, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

// next is the script's next line.
func (s script) next(t *testing.T) reply {
	t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.wait()
		t.Fatalf("the script ended: %v: %s", err, end(s.stderr.Bytes()))
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return r
}

// ask is the script as any other client.
func (s script) ask(t *testing.T, q question) []byte {
	t.Helper()
	s.put(t, q)
	r := s.next(t)
	if r.Error != "" {
		t.Fatalf("%s %s%s: %s", q.Method, q.Name, q.URI, r.Error)
	}
	return typed(t, q.Method, r.Result)
}

func TestTheTypeScriptSDKClientGetsWhatTheServersSayInEveryEra(t *testing.T) {
	s := startScene(t)
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			for _, f := range faces() {
				t.Run(f.label, func(t *testing.T) {
					run := runOf(t)
					s.walk(t, f, startScript(t, s.url+f.path, era, run).ask, lists)
					s.wantTrail(t, f, run)
				})
			}
		})
	}
}

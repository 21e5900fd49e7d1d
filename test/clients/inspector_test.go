package clients_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mcprelay/test/peers"
)

// program is a Node program of others in a home of its own, so that it finds
// no configuration and leaves none behind.
func program(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	node, script := peers.Client(t, name)
	command := exec.CommandContext(t.Context(), node, append([]string{script}, arguments...)...)
	command.Dir = t.TempDir()
	command.Env = []string{"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + command.Dir, "CI=true", "NO_COLOR=1"}
	return command
}

// output runs a program to its end and gives what it printed.
func output(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v: %s%s", command.Args[1:], err, end(stdout.Bytes()), end(stderr.Bytes()))
	}
	return stdout.Bytes()
}

// overInspector asks by the Inspector's command line, one process a question.
func overInspector(endpoint, era, run string) ask {
	return func(t *testing.T, q question) []byte {
		t.Helper()
		arguments := []string{"--cli", "--server-url", endpoint, "--transport", "http", "--protocol-era", era, "--format", "json", "-q", "--method", q.Method}
		for name, value := range headers(run) {
			arguments = append(arguments, "--header", name+": "+value)
		}
		switch q.Method {
		case "tools/call":
			arguments = append(arguments, "--tool-name", q.Name, "--tool-args-json", string(q.Arguments))
		case "resources/read":
			arguments = append(arguments, "--uri", q.URI)
		case "prompts/get":
			arguments = append(append(arguments, "--prompt-name", q.Name, "--prompt-args"), pairs(t, q.Arguments)...)
		}
		var printed struct{ Result json.RawMessage }
		text := output(t, program(t, peers.ClientInspector, arguments...))
		if err := json.Unmarshal(text, &printed); err != nil {
			t.Fatalf("the Inspector printed %q: %v", text, err)
		}
		return typed(t, q.Method, printed.Result)
	}
}

// pairs are a prompt's arguments as key=value, in order.
func pairs(t *testing.T, arguments json.RawMessage) []string {
	t.Helper()
	var all map[string]string
	if err := json.Unmarshal(arguments, &all); err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for key, value := range all {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return pairs
}

func TestTheInspectorGetsWhatTheServersSayInEveryEra(t *testing.T) {
	s := startScene(t)
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			f, run := allServers(), runOf(t)
			s.walk(t, f, overInspector(s.url+f.path, era, run), lists)
			s.wantTrail(t, f, run)
		})
		t.Run(era+" on one server", func(t *testing.T) {
			t.Parallel()
			f, run := oneServer("every"), runOf(t)
			client := overInspector(s.url+f.path, era, run)
			s.wantSame(t, f, client, lists[0])
			s.compare(t, f, client, stepOf("every", "echo"))
			s.wantRecords(t, run, func(step step) bool { return step.Name == "echo" })
		})
	}
}

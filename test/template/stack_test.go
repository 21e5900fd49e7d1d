// Package template_test holds template.yaml to what the relay relies on. It
// translates the template as CloudFormation would and asserts on the result,
// because two mistakes pass every linter: ResponseTransferMode STREAM, which
// gives a buffered integration, and a timeout over the quota.
package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcprelay/test/peers"
)

// source is the template, from this folder.
const source = "../../template.yaml"

// node is any JSON value, with lookups that give an empty node for what is
// missing, so that a check reads as a path and a missing member fails it.
type node struct{ value any }

func (n node) at(path ...string) node {
	for _, name := range path {
		members, _ := n.value.(map[string]any)
		n = node{members[name]}
	}
	return n
}

func (n node) text() string {
	switch v := n.value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, _ := json.Marshal(n.value)
	return string(raw)
}

func (n node) number() float64 { v, _ := n.value.(float64); return v }
func (n node) is(v bool) bool  { have, ok := n.value.(bool); return ok && have == v }
func (n node) names() []string {
	members, _ := n.value.(map[string]any)
	return slices.Sorted(maps.Keys(members))
}

func (n node) list() []node {
	values, ok := n.value.([]any)
	if !ok && n.value != nil {
		return []node{n} // CloudFormation takes one value for a list of one
	}
	nodes := make([]node, len(values))
	for i, v := range values {
		nodes[i] = node{v}
	}
	return nodes
}

// stack is a translated template.
type stack struct{ root node }

func (s stack) resource(name string) node { return s.root.at("Resources", name) }

// of lists the names of the resources of one type.
func (s stack) of(kind string) []string {
	var found []string
	for _, name := range s.root.at("Resources").names() {
		if s.resource(name).at("Type").text() == kind {
			found = append(found, name)
		}
	}
	return found
}

// translate runs templates through the translator, all in one process.
func translate(t *testing.T, templates ...string) []stack {
	t.Helper()
	dir := t.TempDir()
	args := []string{"translate.py"}
	for i, text := range templates {
		in, out := filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), filepath.Join(dir, fmt.Sprintf("%d.json", i))
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, in, out)
	}
	run(t, "python", args...)
	stacks := make([]stack, len(templates))
	for i := range templates {
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &stacks[i].root.value); err != nil {
			t.Fatal(err)
		}
		if reason := stacks[i].root.at("Error").text(); reason != "" {
			t.Fatalf("template %d cannot be translated: %s", i, reason)
		}
	}
	return stacks
}

// run runs an installed program and gives its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), peers.Tool(t, name), args...)
	command.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

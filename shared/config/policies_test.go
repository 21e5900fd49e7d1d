package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"

	"github.com/google/go-cmp/cmp"
)

// rego is a policy with a source; changes are its other keys.
func rego(name, source string, changes ...any) object {
	p := object{"name": name, "source": source}
	set(p, changes)
	return p
}

func policies(p ...any) object { return file([]any{}, "policies", append([]any{}, p...)) }

// verdict is what the policies of c say of a write.
func verdict(t *testing.T, c *registry.Tenant) call.PolicyVerdict {
	t.Helper()
	return c.Engine.Evaluate(t.Context(), policy.Input{Effect: call.EffectWrite}).Verdict
}

func TestPoliciesAreCompiledAndAsked(t *testing.T) {
	c := read(t, policies(rego("b", denies), rego("a", denies, "mode", "audit", "enabled", true)), config.Options{})
	want := []registry.Policy{{Name: "a", Source: denies, Enabled: true, Mode: "audit"}, {Name: "b", Source: denies, Enabled: true, Mode: "enforce"}}
	if diff := cmp.Diff(want, c.Tenant.Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	out := c.Tenant.Engine.Evaluate(t.Context(), policy.Input{Effect: call.EffectWrite})
	if out.Verdict != call.PolicyDeny || len(out.Deny) != 1 || len(out.Audited) != 1 {
		t.Errorf("got %+v, want one message of each", out)
	}
	off := read(t, policies(rego("a", denies, "enabled", false)), config.Options{})
	if got := verdict(t, off.Tenant); got != call.PolicyNotRun || off.Tenant.Engine != nil {
		t.Errorf("a policy that is not enabled says %s", got)
	}
}

func TestProblemsOfPolicies(t *testing.T) {
	const v1 = "package mcprelay.policy\n\n"
	secret := lookalikes[15]
	cases := []struct {
		name string
		file any
		want []string
	}{
		{"policies of another kind", file([]any{}, "policies", object{}), []string{"policies: it must be a list"}},
		{"a policy of another kind", policies("x"), []string{"policies[0]: it must be an object"}},
		{"an empty policy", policies(object{}), []string{"policies[0].name: it is missing", "policies[0].source: it is missing"}},
		{"a bad name", policies(rego("a/b", denies)), []string{"policies[0].name: its byte 2 is not one of a-z A-Z 0-9 ._-"}},
		{"one name twice", policies(rego("a", denies), rego("a", denies)), []string{"policies[1].name: another policy has this name"}},
		{"an unknown mode", policies(rego("a", denies, "mode", "off")), []string{"policies[0].mode: it is not one of enforce, audit"}},
		{"enabled of another kind", policies(rego("a", denies, "enabled", "yes")), []string{"policies[0].enabled: it must be true or false"}},
		{"an unknown field", policies(rego("a", denies, "language", "rego")), []string{"policies[0].language: it is not a known field"}},
		{"no source", policies(rego("a", " \n")), []string{"policies[0].source: it is empty"}},
		{"a source of a megabyte", policies(rego("a", strings.Repeat("# x\n", 1<<18))), []string{"policies[0].source: it is larger than 262144 bytes", "policies[0]: it is larger than 300000 bytes, the most that a store keeps of it"}},
		{"a file and a source", policies(rego("a", denies, "file", "a.rego")), []string{"policies[0].file: it cannot stand beside source"}},
		{"a file without a folder", policies(rego("a", denies, "file", "a.rego", "source", nil)), []string{"policies[0].file: there is no folder to look for it in: only a config file names files, everything else has the source itself"}},
		{"a type error", policies(rego("a", denies), rego("b", v1+"deny contains m if {\n\tm := x\n}\n")), []string{"policies[1].source: line 4, column 2: var x is unsafe"}},
		{"an error of one that is not enabled", policies(rego("b", v1+"deny contains m if {\n\tm := x\n}\n", "enabled", false)), []string{"policies[0].source: line 4, column 2: var x is unsafe"}},
		{"an error that repeats a secret", policies(rego("a", v1+"deny contains m if {\n\tm := x"+secret+"\n}\n")), []string{"policies[0].source: line 4, column 2: it is not usable Rego; the compiler's message is left out, since it may repeat a secret"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems(t, c.file, config.Options{})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Not being Rego at all is a problem with a place, whatever it is.
func TestWhatIsNoRegoHasAPlace(t *testing.T) {
	for name, source := range map[string]string{
		"text": "deny everybody", "a bracket": "package mcprelay.policy\ndeny contains x if {", "another package": "package other\ndeny contains \"x\" if true",
		"the network": "package mcprelay.policy\ndeny contains \"x\" if http.send({\"method\":\"GET\",\"url\":\"https://a.example.com\"})",
		"no deny":     "package mcprelay.policy\nallow := true", "deep": "package mcprelay.policy\ndeny contains " + strings.Repeat("[", 5000),
	} {
		got := problems(t, policies(rego("a", source)), config.Options{})
		if len(got) != 1 || !strings.HasPrefix(got[0], "policies[0].source: line ") {
			t.Errorf("%s: got %q, want one problem with its line", name, got)
		}
	}
}

func TestPoliciesAreBounded(t *testing.T) {
	var all []any
	for i := range policy.MaxPolicies + 1 {
		all = append(all, rego(fmt.Sprint("p", i), denies))
	}
	want := []string{"policies[64]: a tenant has at most 64 policies"}
	if diff := cmp.Diff(want, problems(t, policies(all...), config.Options{})); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// folder is a folder with a config file that names one policy's file, and
// with other files.
func folder(t *testing.T, named string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "relay.json")
	if err := os.WriteFile(path, text(t, policies(object{"name": "p", "file": named})), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPolicyIsReadFromBelowTheConfigFile(t *testing.T) {
	for _, named := range []string{"p.rego", "policies/p.rego", "a/b/c.txt"} {
		c, err := config.Load(folder(t, named, map[string]string{named: denies}), config.Options{})
		if err != nil || c.Tenant.Policies[0].Source != denies || verdict(t, c.Tenant) != call.PolicyDeny {
			t.Errorf("%s: %v", named, err)
		}
	}
}

func TestFilesThatAPolicyMayNotName(t *testing.T) {
	const clean = "it is not a clean path below the folder of the config file"
	for named, want := range map[string]string{
		"../p.rego": clean, "/etc/passwd": clean, "": clean, ".": clean, "./p.rego": clean, "a/../p.rego": clean, "a//p.rego": clean, "p.rego/": clean, "p\n.rego": clean,
		"none.rego": "no such file or directory", "a": "it is not a regular file", "big.rego": "it is larger than 262144 bytes",
		"empty.rego": "it is empty", "broken.rego": "it is not valid UTF-8", "bad.rego": "line 3, column 1: ",
	} {
		path := folder(t, named, map[string]string{"p.rego": denies, "a/p.rego": denies, "big.rego": denies + strings.Repeat("#", 256<<10), "empty.rego": "", "broken.rego": denies + "#\xff", "bad.rego": "package mcprelay.policy\n\n]"})
		_, err := config.Load(path, config.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), path+": policies[0].file: "+want) {
			t.Errorf("%q: got %v, want %s", named, err, want)
		}
	}
}

func TestAPolicysFileIsAsSafeAsTheConfigFile(t *testing.T) {
	path := folder(t, "p.rego", map[string]string{"p.rego": denies})
	own := filepath.Join(filepath.Dir(path), "p.rego")
	if err := os.Chmod(own, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path, config.Options{}); err == nil || !strings.Contains(err.Error(), "policies[0].file: its mode 0666 lets group or others write it") {
		t.Errorf("got %v, want its mode in it", err)
	}
	if err := os.Rename(own, own+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("p.rego.real", own); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path, config.Options{}); err == nil || !strings.Contains(err.Error(), "policies[0].file: it is a symbolic link") {
		t.Errorf("got %v, want a symbolic link", err)
	}
}

func TestPoliciesThatAreTheSameAreCompiledOnce(t *testing.T) {
	docs := documents(t, read(t, policies(rego("a", denies), rego("b", denies, "mode", "audit")), config.Options{}))
	first, err := config.Build("acme", docs, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Build("acme", append(docs, registry.Document{Kind: "agent", Name: "ci", Body: text(t, object{"subject": "ci"}), Rev: 2}), config.Options{Before: first})
	if err != nil || again.Engine != first.Engine || again.Rev != 2 {
		t.Errorf("the same policies are another engine, %v", err)
	}
	for i := range docs {
		if docs[i].Name == "a" {
			docs[i].Body = text(t, rego("a", strings.ReplaceAll(denies, "!=", "=="), "mode", "audit"))
		}
	}
	changed, err := config.Build("acme", docs, config.Options{Before: again})
	if err != nil || changed.Engine == first.Engine || verdict(t, first) != call.PolicyDeny {
		t.Fatalf("changed policies are the same engine, %v", err)
	}
	if out := changed.Engine.Evaluate(t.Context(), policy.Input{Effect: call.EffectWrite}); len(out.Deny) != 0 {
		t.Errorf("the old policy still denies: %q", out.Deny)
	}
}

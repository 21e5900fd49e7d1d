package registry_test

import (
	"strings"
	"testing"

	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsAreNamesOrPathsFromTheRoot(t *testing.T) {
	for command, want := range map[string]string{
		"npx": "", "python3.13": "", "/opt/docs/bin/server": "", "/opt/My Docs/server": "", "docs-mcp": "", "Ünï": "",
		"":                        "it is missing or empty",
		"./server":                "it is neither the name",
		"bin/server":              "it is neither the name",
		"../server":               "it is neither the name",
		"/opt/../bin/server":      "it is neither the name",
		"/opt//server":            "it is neither the name",
		"/opt/server/":            "it is neither the name",
		" npx":                    "it begins or ends with a blank",
		"npx ":                    "it begins or ends with a blank",
		"npx\x00":                 "its byte 4 is a control character",
		"a\nb":                    "its byte 2 is a control character",
		"\xff":                    "it is not valid UTF-8",
		strings.Repeat("a", 1025): "it is longer than 1024 bytes",
	} {
		err := registry.Command(command)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%.40q: got %v, want %s", command, err, want)
		}
	}
}

func TestArgumentsArePlainText(t *testing.T) {
	for argument, want := range map[string]string{
		"": "", "-y": "", "--dir=/srv/docs": "", "a b": "", "^a$": "", "5$": "", "$": "", "{\"a\":1}": "", "Été": "", strings.Repeat("a", 4096): "",
		"a\x00b":                  "its byte 2 is a control character",
		"a\tb":                    "its byte 2 is a control character",
		"a\n":                     "its byte 2 is a control character",
		"\x7f":                    "its byte 1 is a control character",
		"a\u0085":                 "its byte 2 is a control character",
		"\xff":                    "it is not valid UTF-8",
		"${DOCS_TOKEN}":           "nothing is expanded in it",
		"--token=$DOCS_TOKEN":     "nothing is expanded in it",
		"$HOME/docs":              "nothing is expanded in it",
		"x${input:key}":           "nothing is expanded in it",
		strings.Repeat("a", 4097): "it is longer than 4096 bytes",
	} {
		err := registry.Argument(argument)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%.40q: got %v, want %s", argument, err, want)
		}
		if err != nil && len(argument) > 3 && strings.Contains(err.Error(), argument) {
			t.Errorf("%.40q: the error repeats it: %v", argument, err)
		}
	}
}

func TestAProcessHasNoEndpoint(t *testing.T) {
	u, err := endpoint.Parse("https://mcp.example.com/v1", endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	process := &registry.Process{Command: "docs-mcp"}
	for name, c := range map[string]struct {
		server registry.Server
		want   bool
	}{
		"a process":              {registry.Server{Process: process}, true},
		"neither":                {registry.Server{}, false},
		"both":                   {registry.Server{Process: process, Endpoint: u, AllowedEndpoints: []string{u.String()}}, false},
		"an endpoint, none list": {registry.Server{Process: process, Endpoint: u}, false},
		"a list alone":           {registry.Server{Process: process, AllowedEndpoints: []string{""}}, false},
	} {
		if got := c.server.AllowsEndpoint(); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// What a rule must allow is everything that a server is given, each once.
func TestReferencesOfEveryKind(t *testing.T) {
	environment := map[string]string{"B": "two", "A": "one", "C": "one"}
	for name, c := range map[string]struct {
		server registry.Server
		want   []string
	}{
		"none":        {registry.Server{}, nil},
		"a bearer":    {registry.Server{Auth: secret.Bearer("token")}, []string{"token"}},
		"TLS":         {registry.Server{Auth: secret.Bearer("token"), TLS: secret.TLSRefs{CA: "ca", Cert: "cert", Key: "key"}}, []string{"token", "ca", "cert", "key"}},
		"a CA only":   {registry.Server{TLS: secret.TLSRefs{CA: "ca"}}, []string{"ca"}},
		"one for two": {registry.Server{Auth: secret.Bearer("ca"), TLS: secret.TLSRefs{CA: "ca"}}, []string{"ca"}},
		"a process": {registry.Server{
			Auth:    secret.Auth{Type: secret.TypeEnvironment, Environment: environment},
			Process: &registry.Process{Command: "docs-mcp", Env: environment},
		}, []string{"one", "two"}},
		"variables without auth": {registry.Server{Process: &registry.Process{Command: "docs-mcp", Env: environment}}, []string{"one", "two"}},
	} {
		if diff := cmp.Diff(c.want, c.server.References()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A token of the environment is lent no more than one of a header.
func TestSecretsOfProcessesAreShared(t *testing.T) {
	tenant := &registry.Tenant{Servers: map[string]*registry.Server{
		"docs":  secrets("token", secret.Source{Env: "DOCS_TOKEN"}),
		"child": secrets("mine", secret.Source{Env: "DOCS_TOKEN"}, "own", secret.Source{Env: "OWN"}),
	}}
	tenant.Servers["child"].Process = &registry.Process{Command: "docs-mcp", Env: map[string]string{"T": "mine", "O": "own"}}
	for ref, want := range map[string]bool{"token": true, "mine": true, "own": false} {
		if got := tenant.Shared(ref); got != want {
			t.Errorf("%s: got %v, want %v", ref, got, want)
		}
	}
}

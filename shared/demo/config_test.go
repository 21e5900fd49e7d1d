package demo_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/demo"
)

type file struct {
	Tenant  string
	Servers []struct {
		Name   string
		Config struct {
			Endpoint         string
			AllowedEndpoints []string `json:"allowed_endpoints"`
			Auth             struct{ Type string }
			AllowedTools     []string `json:"allowed_tools"`
			Effects          map[string]string
		}
	}
	Rules []struct{ Action, Decision string }
}

func config(t *testing.T, url string) file {
	t.Helper()
	var f file
	if err := json.Unmarshal(demo.Config(url), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConfigReachesTheServer(t *testing.T) {
	s := start(t)
	f := config(t, s.URL())
	if len(f.Servers) != 1 || f.Servers[0].Name != demo.Name {
		t.Fatalf("got %+v, want the one server %s", f.Servers, demo.Name)
	}
	c := f.Servers[0].Config
	if c.Endpoint != s.URL() || !slices.Equal(c.AllowedEndpoints, []string{s.URL()}) || c.Auth.Type != "none" {
		t.Errorf("got %+v, want the endpoint %s without credentials", c, s.URL())
	}
	var rules []string
	for _, r := range f.Rules {
		rules = append(rules, r.Action+" "+r.Decision)
	}
	want := []string{"mcp.demo.host.127.0.0.1 allow", "mcp.demo.tool.* allow"}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestConfigClassifiesEveryTool(t *testing.T) {
	c := config(t, "http://127.0.0.1:1/mcp").Servers[0].Config
	list, err := connect(t, "", nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if !slices.Contains(c.AllowedTools, tool.Name) || c.Effects[tool.Name] == "" {
			t.Errorf("%s: allowed %v, effect %q; want it allowed and classified", tool.Name, c.AllowedTools, c.Effects[tool.Name])
		}
	}
	if c.Effects["echo"] != "read" || c.Effects["fail"] != "write" {
		t.Errorf("got %v, want echo read and fail write", c.Effects)
	}
	if len(c.AllowedTools) != len(list.Tools) || len(c.Effects) != len(list.Tools) {
		t.Errorf("got %v and %v, want the %d tools of the server and no more", c.AllowedTools, c.Effects, len(list.Tools))
	}
}

func TestConfigQuotesTheEndpoint(t *testing.T) {
	const odd = `http://127.0.0.1:1/"\mcp`
	if got := config(t, odd).Servers[0].Config.Endpoint; got != odd {
		t.Errorf("got %q, want %q", got, odd)
	}
}

func TestConfigOfALiteralIPv6ServerNamesItInTheRule(t *testing.T) {
	if got := config(t, "http://[::1]:1/mcp").Rules[0].Action; got != "mcp.demo.host.::1" {
		t.Errorf("got %s, want mcp.demo.host.::1", got)
	}
}

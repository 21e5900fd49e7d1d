package front_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/front"
)

const (
	login     = "https://login.example.com"
	wellKnown = "/.well-known/oauth-protected-resource"
)

// frontTelling is a front whose clients are told of an issuer.
func frontTelling(t *testing.T, public string, local bool, issuers ...string) *front.Front {
	t.Helper()
	f, _ := newFront(t, local)
	f.PublicURL, f.AuthorizationServers = public, issuers
	return f
}

func TestMetadataNamesTheResourceOfItsPath(t *testing.T) {
	for name, c := range map[string]struct{ public, path, want string }{
		"the relay":                      {"https://relay.example.com", "", "https://relay.example.com"},
		"all servers":                    {"https://relay.example.com", "/v1/mcp", "https://relay.example.com/v1/mcp"},
		"one server":                     {"https://relay.example.com", "/v1/servers/up/mcp", "https://relay.example.com/v1/servers/up/mcp"},
		"a server that is not there":     {"https://relay.example.com", "/v1/servers/nobody/mcp", "https://relay.example.com/v1/servers/nobody/mcp"},
		"with a slash":                   {"https://relay.example.com", "/v1/mcp/", "https://relay.example.com/v1/mcp"},
		"below a stage":                  {"https://api.example.com/live", "/v1/mcp", "https://api.example.com/live/v1/mcp"},
		"below a stage, stage first":     {"https://api.example.com/live", "/live/v1/mcp", "https://api.example.com/live/v1/mcp"},
		"below two, the relay":           {"https://api.example.com/a/b", "/a/b", "https://api.example.com/a/b"},
		"on loopback, by what is in use": {"", "/v1/mcp", "http://127.0.0.1:8080/v1/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(frontTelling(t, c.public, c.public == "", login), http.MethodGet, wellKnown+c.path, "", "Authorization", "")
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("got %d %s, %v", w.Code, w.Body, err)
			}
			want := map[string]any{
				"resource": c.want, "resource_name": "mcprelay", "authorization_servers": []any{login},
				"scopes_supported": []any{"call"}, "bearer_methods_supported": []any{"header"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

// What is not there is 404 in JSON, fast: clients probe several places.
func TestMetadataIsNowhereElse(t *testing.T) {
	public := frontTelling(t, "https://relay.example.com", false, login)
	for name, c := range map[string]struct {
		front *front.Front
		path  string
		host  string
	}{
		"another resource":       {public, wellKnown + "/v1/servers", ""},
		"the plain face":         {public, wellKnown + "/v1/servers/up/tools/look", ""},
		"a name that is none":    {public, wellKnown + "/v1/servers/UP%22/mcp", ""},
		"a name that ends it":    {public, wellKnown + "/v1/servers/%22%0d%0a/mcp", ""},
		"another stage":          {public, wellKnown + "/live/v1/mcp", ""},
		"authorization server":   {public, "/.well-known/oauth-authorization-server", ""},
		"with a path":            {public, "/.well-known/oauth-authorization-server/v1/mcp", ""},
		"OpenID":                 {public, "/.well-known/openid-configuration", ""},
		"below the endpoint":     {public, "/v1/mcp/.well-known/openid-configuration", ""},
		"without an issuer":      {frontTelling(t, "https://relay.example.com", false), wellKnown, ""},
		"without a URL":          {frontTelling(t, "", false, login), wellKnown + "/v1/mcp", ""},
		"a foreign host":         {frontTelling(t, "", true, login), wellKnown + "/v1/mcp", "evil.example.com"},
		"a foreign host, public": {frontTelling(t, "https://relay.example.com", true, login), wellKnown, "evil.example.com"},
		"a port that is none":    {frontTelling(t, "", true, login), wellKnown, "127.0.0.1:80a"},
		"a host and more":        {frontTelling(t, "", true, login), wellKnown, "localhost\":80"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Authorization", ""}
			if c.host != "" {
				headers = append(headers, "Host", c.host)
			}
			w := ask(c.front, http.MethodGet, c.path, "", headers...)
			if w.Code != 404 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
	if w := ask(public, http.MethodPost, wellKnown, "{}"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestChallengesSayWhatWasWrongAndWhereToGo(t *testing.T) {
	public := frontTelling(t, "https://api.example.com/live", false, login)
	local := frontTelling(t, "", true, login)
	silent, _ := newFront(t, true)
	const meta = `, resource_metadata="https://api.example.com/live/.well-known/oauth-protected-resource`
	for name, c := range map[string]struct {
		front               *front.Front
		path, authorization string
		status              int
		want                string
	}{
		"no credential":         {public, "/v1/mcp", "", 401, `, scope="call"` + meta + `/v1/mcp"`},
		"a wrong one":           {public, "/v1/mcp", "Bearer bad", 401, `, error="invalid_token", scope="call"` + meta + `/v1/mcp"`},
		"without the scope":     {public, "/v1/mcp", "Bearer reader", 403, `, error="insufficient_scope", scope="call"` + meta + `/v1/mcp"`},
		"one server":            {public, "/v1/servers/up/mcp", "", 401, `, scope="call"` + meta + `/v1/servers/up/mcp"`},
		"one that is not there": {public, "/v1/servers/nobody/mcp", "", 401, `, scope="call"` + meta + `/v1/servers/nobody/mcp"`},
		"a name that is none":   {public, "/v1/servers/%22%2c/mcp", "", 401, `, scope="call"`},
		"the plain face":        {public, "/v1/servers/up/tools/look", "", 401, `, scope="call"`},
		"plain, no scope":       {public, "/v1/servers/up/tools/look", "Bearer reader", 403, `, error="insufficient_scope", scope="call"`},
		"on loopback":           {local, "/v1/mcp", "", 401, `, scope="call", resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/v1/mcp"`},
		"nothing to tell":       {silent, "/v1/mcp", "", 401, `, scope="call"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(c.front, http.MethodPost, c.path, `{}`, "Authorization", c.authorization)
			got := w.Header().Get("WWW-Authenticate")
			if want := `Bearer realm="mcprelay"` + c.want; w.Code != c.status || got != want {
				t.Errorf("got %d %s, want %d %s", w.Code, got, c.status, want)
			}
		})
	}
	w := ask(public, http.MethodPost, "/v1/mcp", `{}`, "Authorization", "", "Origin", "https://evil.example.com")
	if got := w.Header().Get("WWW-Authenticate"); w.Code != 403 || got != "" {
		t.Errorf("a foreign origin: got %d and the challenge %q", w.Code, got)
	}
}

// A client follows the challenge to metadata whose resource is the URL that it
// asked (RFC 9728, 3.3).
func TestTheChallengeLeadsToTheMetadataOfTheSameResource(t *testing.T) {
	for _, path := range []string{"/v1/mcp", "/v1/servers/up/mcp"} {
		f := frontTelling(t, "", true, login)
		challenge := ask(f, http.MethodPost, path, `{}`, "Authorization", "").Header().Get("WWW-Authenticate")
		_, link, _ := strings.Cut(challenge, `resource_metadata="`)
		link, _, _ = strings.Cut(link, `"`)
		at, ok := strings.CutPrefix(link, "http://127.0.0.1:8080")
		if !ok {
			t.Fatalf("the challenge is %s", challenge)
		}
		w := ask(f, http.MethodGet, at, "", "Authorization", "")
		if want := `"resource":"http://127.0.0.1:8080` + path + `"`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %s, want %s", w.Body, want)
		}
	}
}

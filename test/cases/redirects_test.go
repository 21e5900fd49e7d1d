package cases_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section I, first part: redirects and other ways elsewhere.
func redirects() []row {
	return []row{
		{"I85", "every redirect is refused, recorded and never followed, and an agent is never sent elsewhere", func(t *testing.T, k *stage) {
			refusedRedirects(t, k)
			trailingSlash(t, k)
		}},
		{"I86", "a credential goes to no other origin", otherOrigins},
	}
}

// trap is a server that nobody must reach.
func trap(t *testing.T) *hostile.Server {
	t.Helper()
	up := hostile.Start(t, hostile.Options{Lenient: true})
	t.Cleanup(func() {
		if n := up.Connections(); n != 0 {
			t.Errorf("%d connections to where a redirect leads, want none", n)
		}
	})
	return up
}

func refusedRedirects(t *testing.T, k *stage) {
	elsewhere := trap(t)
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		here := "up.mcp.localhost"
		statuses := []int{301, 307}
		if s.up.Era() == hostile.Modern {
			statuses = []int{300, 301, 302, 303, 304, 305, 306, 307, 308, 399}
		}
		for _, status := range statuses {
			for _, v := range []struct{ location, host, named string }{
				{"/mcp/", here, "/mcp/"},
				{"http://" + s.up.Authority() + "/mcp/", here, "/mcp/"}, // to plain text
				{s.up.URL(), here, "/mcp"},                              // a loop
				{"?x=1", here, ""},
				{elsewhere.URL() + "?token=abc", here, ""},
				{"https://other.example:8443/a/b?token=abc", "other.example", ""},
				{"//other.example/", "other.example", ""},
				{"https://user:pw@OTHER.example/", "other.example", ""},
				{"http://169.254.169.254/latest/meta-data/", "169.254.169.254", ""},
				{"https://\u043e.example/", "", ""},
				{"javascript:alert(1)", here, ""},
				{"http://[::1", "", ""},
				{"", "", ""},
			} {
				var headers []string
				if v.location != "" {
					headers = append(headers, "Location: "+v.location)
				}
				s.up.On("tools/call", hostile.Status(status, "", "", headers...))
				reply := s.ask(hostile.Ask{Tool: "look"}, want{reason: call.Redirect, effect: call.ImpactUnknown, status: status, session: hostile.Held(s.up.Era())})
				if reply.Record.Location != v.host {
					t.Errorf("%d to %q: the record has the host %q, want %q", status, v.location, reply.Record.Location, v.host)
				}
				if text := reply.Record.Detail + reply.Body; strings.Contains(text, "token") || strings.Contains(text, "pw") || !strings.Contains(reply.Record.Detail, v.named) {
					t.Errorf("%d to %q: the record says %q, want %q named and no query", status, v.location, reply.Record.Detail, v.named)
				}
			}
		}
	})
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list"} {
		era, opened, reason := hostile.Sessionless, 1, call.Redirect
		switch method {
		case "server/discover":
			opened = 0
		case "tools/list":
			era, opened = hostile.Modern, 0
		}
		s := k.set(t, hostile.Options{Era: era, On: map[string]hostile.Script{method: hostile.Status(307, "", "", "Location: "+elsewhere.URL())}}, hostile.Setup{})
		s.under(method, func(s *scene) {
			s.ask(hostile.Ask{}, want{reason: reason, effect: call.ImpactNone, calls: none, opened: opened})
		})
	}
	s := k.warm(t, hostile.Modern, hostile.Setup{})
	for _, path := range []string{"/v1/servers/up/mcp", "/v1/servers/up/mcp/"} {
		s.ask(hostile.Ask{Path: path}, want{}) // the relay's own two paths are one
	}
}

func otherOrigins(t *testing.T, k *stage) {
	elsewhere := trap(t)
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, header := range []string{
			"Location: %s", "Refresh: 0; url=%s", "Link: <%s>; rel=\"canonical\"", "Content-Location: %s", "Alt-Svc: h2=\"%s\"; ma=86400",
			"Set-Cookie: a=b; Domain=localhost", "X-Accel-Redirect: %s", "Upgrade: h2c",
		} {
			if strings.Contains(header, "%s") {
				header = fmt.Sprintf(header, elsewhere.URL())
			}
			s.up.On("tools/call", hostile.JSON(response, header))
			reply := s.ask(hostile.Ask{Tool: "look"}, want{result: hello, status: 200, session: hostile.Held(s.up.Era())})
			name, _, _ := strings.Cut(header, ":")
			if got := reply.Header.Get(name); got != "" {
				t.Errorf("the agent got %s: %s", name, got)
			}
		}
		s.up.On("tools/call", hostile.Status(401, "", "", `WWW-Authenticate: Bearer resource_metadata="`+elsewhere.URL()+`"`))
		s.ask(hostile.Ask{Tool: "look"}, want{reason: call.UpstreamUnauthorized, effect: call.ImpactNone, status: 401})
		s.up.On("tools/call", nil)
		s.ask(hostile.Ask{Tool: "look"}, want{session: hostile.Held(s.up.Era())})
		if got := s.up.Last("tools/call").Header.Get("Authorization"); got != "Bearer "+hostile.Token {
			t.Errorf("the server itself got the credential %q", got)
		}
	})
}

// trailingSlash: the paths are served as they are asked for.
func trailingSlash(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			path := map[bool]string{false: "/v1/servers/up/mcp", true: "/v1/mcp"}[all]
			for _, spelled := range []string{path, path + "/"} {
				for _, modern := range []bool{false, true} {
					reply := s.ask(hostile.Ask{All: all, Path: spelled, Modern: modern}, want{session: hostile.Held(s.up.Era())})
					if got := reply.Header.Get("Location"); got != "" {
						s.t.Errorf("%s: sent to %s", spelled, got)
					}
				}
				for _, verb := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodHead} {
					before := len(s.up.Requests())
					reply := s.relay.Ask(s.t.Context(), s.t, hostile.Ask{Path: spelled, Verb: verb})
					if reply.Status != http.StatusMethodNotAllowed || reply.Header.Get("Allow") != "POST" {
						s.t.Errorf("%s %s: got %d, Allow %q, want 405 and POST", verb, spelled, reply.Status, reply.Header.Get("Allow"))
					}
					s.counted("requests", len(s.up.Requests()), before)
				}
			}
		})
	})
}

package front

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
)

// wellKnown is where a resource's metadata is (RFC 9728 section 3).
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata is what clients without a token read: which issuers' tokens the
// relay takes at a resource (RFC 9728 section 2).
type metadata struct {
	Resource string       `json:"resource"`
	Name     string       `json:"resource_name"`
	Servers  []string     `json:"authorization_servers"`
	Scopes   []call.Scope `json:"scopes_supported"`
	Methods  []string     `json:"bearer_methods_supported"`
}

// serveMetadata answers for the resource that the path names after the
// well-known part. It says nothing about a server but its name, whether there
// is one or not: nobody has been authenticated.
func (f *Front) serveMetadata(w http.ResponseWriter, r *http.Request, parts []string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeHead(w, http.StatusMethodNotAllowed)
		return
	}
	base, ok := f.base(r)
	path, lawful := resource(parts, base)
	if !ok || !lawful || f.LocalHosts && !isLoopbackName(hostname(r.Host)) {
		f.Refuse(w, r, call.Refuse(call.NotFound, ""))
		return
	}
	writeJSON(w, http.StatusOK, metadata{
		Resource: base + path, Name: f.Name, Servers: f.AuthorizationServers,
		Scopes: []call.Scope{call.ScopeCall}, Methods: []string{"header"},
	})
}

// resource is the path of the resource that the segments behind the well-known
// part name: none for the relay as a whole, or an MCP endpoint. A client that
// puts the well-known part before the whole path of a relay below one (RFC 9728
// section 3.1) has that path in front.
func resource(parts []string, base string) (string, bool) {
	if u, err := url.Parse(base); err == nil && u.Path != "" {
		above := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(parts) >= len(above) && slices.Equal(parts[:len(above)], above) {
			parts = parts[len(above):]
		}
	}
	if len(parts) == 0 {
		return "", true
	}
	server, ok := mcpPath(parts)
	if !ok || server != "" && registry.ServerName(server) != nil {
		return "", false
	}
	return "/" + strings.Join(parts, "/"), true
}

// base is the URL that clients know the relay by: the configured one, or, on
// loopback, the one in use. False where there is none, or where no issuer is
// registered, so that there is nothing to tell.
func (f *Front) base(r *http.Request) (string, bool) {
	if len(f.AuthorizationServers) == 0 {
		return "", false
	}
	if f.PublicURL != "" {
		return f.PublicURL, true
	}
	return "http://" + r.Host, f.LocalHosts && plainHost(r.Host)
}

// plainHost passes a loopback name with a port or none. It becomes a part of a
// header and of a document.
func plainHost(host string) bool {
	name := hostname(host)
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	port, cut := strings.CutPrefix(strings.TrimPrefix(host, name), ":")
	_, err := strconv.ParseUint(port, 10, 16)
	return strings.HasPrefix(host, name) && isLoopbackName(hostname(host)) && (host == name || cut && err == nil)
}

// challenged adds the challenge of a refused credential (RFC 6750 section 3):
// what was wrong, which scope it takes, and where the metadata is (RFC 9728
// section 5.1).
func (f *Front) challenged(r *http.Request, refusal *call.Refusal, scope call.Scope) *call.Refusal {
	var b strings.Builder
	b.WriteString(challenge)
	_, given := r.Header["Authorization"]
	switch {
	case refusal.Reason == call.InsufficientScope:
		b.WriteString(`, error="insufficient_scope"`)
	case refusal.Reason != call.Unauthenticated:
		return refusal
	case given:
		b.WriteString(`, error="invalid_token"`)
	}
	b.WriteString(`, scope="` + string(scope) + `"`)
	parts := segments(r)
	server, ok := mcpPath(parts)
	base, known := f.base(r)
	if ok && known && (server == "" || registry.ServerName(server) == nil) {
		b.WriteString(`, resource_metadata="` + base + wellKnown + "/" + strings.Join(parts, "/") + `"`)
	}
	refusal.Challenge = b.String()
	return refusal
}

package front

import (
	"net/http"
	"net/url"
	"strings"

	"mcprelay/shared/call"
)

// route serves the path of a request.
func (f *Front) route(w http.ResponseWriter, r *http.Request, parts []string) {
	if server, ok := mcpPath(parts); ok {
		f.serveMCP(w, r, server)
		return
	}
	if len(parts) == 1 && parts[0] == "healthz" {
		f.health(w, r)
		return
	}
	if len(parts) >= 2 && "/"+parts[0]+"/"+parts[1] == wellKnown {
		f.serveMetadata(w, r, parts[2:])
		return
	}
	if len(parts) < 2 || parts[0] != "v1" {
		f.Refuse(w, r, call.Refuse(call.NotFound, ""))
		return
	}
	switch noun := parts[1]; {
	case len(parts) == 2 && noun == "openapi.json":
		f.serveOpenAPI(w, r)
	case len(parts) == 2 && noun == "servers":
		f.serveServers(w, r)
	case len(parts) == 5 && noun == "servers" && parts[3] == "tools":
		f.servePlain(w, r, parts[2], parts[4])
	case len(parts) == 4 && noun == "servers" && isList(parts[3]):
		f.serveList(w, r, parts[2], parts[3])
	case len(parts) == 2 && noun == "turns":
		f.openTurn(w, r)
	case len(parts) == 3 && noun == "turns":
		f.endTurn(w, r, parts[2])
	case len(parts) == 3 && noun == "admin" && parts[2] == "simulate":
		f.simulate(w, r)
	case len(parts) == 3 && noun == "runs":
		f.serveRun(w, r, parts[2])
	default:
		f.Refuse(w, r, call.Refuse(call.NotFound, ""))
	}
}

// mcpPath reports whether a path is an MCP endpoint, and of which server: of
// all of them where it is empty.
func mcpPath(parts []string) (server string, ok bool) {
	switch {
	case len(parts) == 2 && parts[0] == "v1" && parts[1] == "mcp":
		return "", true
	case len(parts) == 4 && parts[0] == "v1" && parts[1] == "servers" && parts[3] == "mcp":
		return parts[2], true
	}
	return "", false
}

// Refuse answers for a request that never became one, because what carried it
// was malformed or its path is nobody's. Nobody has been authenticated: it leaves a line and a count.
func (f *Front) Refuse(w http.ResponseWriter, r *http.Request, refusal *call.Refusal) {
	if _, ok := mcpPath(segments(r)); ok {
		f.refuse(w, r, request{call: f.newCall(r, call.FaceMCP)}, refusal)
		return
	}
	c := f.newCall(r, call.FacePlain)
	writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
}

// segments splits the path; nil where one cannot be decoded or is empty.
func segments(r *http.Request) []string {
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "" {
			return nil
		}
		parts[i] = decoded
	}
	return parts
}

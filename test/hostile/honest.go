package hostile

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Tools are the descriptors that a server lists by default: look is what the
// registration of [Relay] classifies as read, change as write, and echo is not
// classified.
func Tools() []string {
	return []string{
		`{"name":"echo","inputSchema":{"type":"object"}}`,
		`{"name":"look","inputSchema":{"type":"object"}}`,
		`{"name":"change","inputSchema":{"type":"object"}}`,
	}
}

// Echo is the result of an honest call, $ARGUMENTS as they came.
func (s *Server) Echo() string {
	const result = `"content":[{"type":"text","text":"<&> \u00e9"}],"structuredContent":{"echo":$ARGUMENTS}}`
	if s.options.Era == Modern {
		return `{"resultType":"complete",` + result
	}
	return "{" + result
}

// Honest answers as the protocol of the server's era says.
func (s *Server) Honest(c *Conn, r Request) {
	switch {
	case r.Verb == http.MethodDelete:
		s.giveUp(c, r)
	case r.Verb != http.MethodPost:
		c.Reply(http.StatusMethodNotAllowed, "", "", "Allow: POST")
	case s.options.Era == Modern:
		s.modern(c, r)
	default:
		s.legacy(c, r)
	}
}

func (s *Server) modern(c *Conn, r Request) {
	const cached = `,"ttlMs":0,"cacheScope":"private"}`
	switch r.Method {
	case "server/discover":
		c.Result(r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}`+cached)
	case "tools/list":
		c.Result(r, `{"resultType":"complete","tools":[`+strings.Join(s.options.Tools, ",")+`]`+cached)
	case "tools/call":
		c.Result(r, r.Fill(s.Echo()))
	default:
		s.unknown(c, r, http.StatusNotFound)
	}
}

// unknown is the answer to a method that there is none of.
func (s *Server) unknown(c *Conn, r Request, status int) {
	if r.ID == "" {
		c.Reply(http.StatusAccepted, "", "")
		return
	}
	c.Reply(status, "application/json", `{"jsonrpc":"2.0","id":`+r.ID+`,"error":{"code":-32601,"message":"Method not found"}}`)
}

func (s *Server) legacy(c *Conn, r Request) {
	switch {
	case r.Method == "server/discover":
		c.Reply(http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`)
	case r.Method == "initialize":
		s.Initialize(c, r)
	case !s.holds(r.Header.Get("Mcp-Session-Id")):
		c.Reply(http.StatusNotFound, "text/plain", "session not found\n")
	case r.ID == "":
		c.Reply(http.StatusAccepted, "", "")
	case r.Method == "tools/list":
		c.Result(r, `{"tools":[`+strings.Join(s.options.Tools, ",")+`]}`)
	case r.Method == "tools/call":
		c.Result(r, r.Fill(s.Echo()))
	default:
		s.unknown(c, r, http.StatusOK)
	}
}

// Initialize opens a session, with further headers in the reply.
func (s *Server) Initialize(c *Conn, r Request, headers ...string) {
	if s.options.Era == Legacy {
		headers = append(headers, "Mcp-Session-Id: "+s.NewSession())
	}
	c.Reply(http.StatusOK, "application/json", Response(r, s.Greeting()), headers...)
}

// Greeting is the result of initialize.
func (s *Server) Greeting() string {
	return `{"protocolVersion":"` + s.options.Version + `","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"}}`
}

// NewSession opens a session and gives its id.
func (s *Server) NewSession() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("session-%d-of-%d", len(s.opened)+1, s.Port())
	s.opened = append(s.opened, id)
	s.sessions[id] = true
	return id
}

// Sessions lists the ids that are open, in the order they were opened.
func (s *Server) Sessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.opened), func(id string) bool { return !s.sessions[id] })
}

// LoseSessions forgets every session, as a restart does.
func (s *Server) LoseSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

func (s *Server) holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Era == Sessionless && id == "" || s.sessions[id]
}

// giveUp ends a session on DELETE.
func (s *Server) giveUp(c *Conn, r Request) {
	id := r.Header.Get("Mcp-Session-Id")
	if s.options.Era != Legacy {
		c.Reply(http.StatusMethodNotAllowed, "", "", "Allow: POST")
		return
	}
	status := http.StatusNotFound
	if s.holds(id) {
		status = http.StatusOK
	}
	s.mu.Lock()
	delete(s.sessions, id)
	s.mu.Unlock()
	c.Reply(status, "", "")
}

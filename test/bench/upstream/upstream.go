// Package upstream is the MCP server behind the measured relays: fast, of both
// eras, and a counter of what reaches it.
//
// It promises to give the arguments of every tools/call back as the bytes that
// came. It refuses nothing that a client of the bench would send, and checks
// nothing either.
package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Tools are the names of the two tools. They do the same; the bench registers
// only the first with an effect.
const (
	Classified   = "echo"
	Unclassified = "note"
)

// CountPath answers with the POSTs so far by JSON-RPC method, as one object.
const CountPath = "/count"

// ManyPath begins the paths on which the server lists [Many] tools.
const ManyPath = "/many/"

// Many is as many tools as the relay takes of one server.
const Many = 64

const (
	// Where a request fits here, it is read without growing.
	usualBody = 4 << 10
	session   = "bench-session-0001"
)

var errNoRequest = errors.New("not a JSON-RPC request")

// Server answers on every path but [CountPath].
type Server struct {
	legacy bool

	mu     sync.Mutex
	counts map[string]int
}

// New makes a server. A legacy one does not know server/discover, so that a
// dual-era client falls back to initialize.
func New(legacy bool) *Server { return &Server{legacy: legacy, counts: map[string]int{}} }

// ServeHTTP answers one POST.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CountPath {
		s.writeCounts(w)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := bytes.NewBuffer(make([]byte, 0, max(usualBody, int(r.ContentLength)+bytes.MinRead)))
	if _, err := io.Copy(body, r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q, err := read(body.Bytes())
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q.many = strings.HasPrefix(r.URL.Path, ManyPath)
	s.count(q.method)
	s.answer(w, q)
}

func (s *Server) answer(w http.ResponseWriter, q request) {
	if len(q.id) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if q.method == "initialize" {
		w.Header().Set("Mcp-Session-Id", session)
	}
	status, member, value := s.result(q)
	out := make([]byte, 0, len(value)+len(q.arguments)+256)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(append(out, q.id...), `,"`+member+`":`...)
	out = append(out, value...)
	if q.method == "tools/call" {
		out = append(append(out, q.arguments...), '}')
	}
	out = append(out, '}')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	w.WriteHeader(status)
	_, _ = w.Write(out) // a client that went away is not counted as answered by anybody
}

const about = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}`

// result gives the status, and the member of the reply with its value. That of
// tools/call is left open for the arguments.
func (s *Server) result(q request) (int, string, string) {
	switch q.method {
	case "tools/call":
		return 200, "result", `{"resultType":"complete",` + about + `,"content":[{"type":"text","text":"done"}],"structuredContent":`
	case "tools/list":
		return 200, "result", `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + about + `,"tools":[` + q.tools() + `]}`
	case "server/discover":
		if s.legacy {
			return 400, "error", `{"code":-32000,"message":"Bad Request: Server not initialized"}`
		}
		return 200, "result", `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` + about + `}`
	case "initialize":
		return 200, "result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
	case "ping":
		return 200, "result", `{}`
	}
	return 404, "error", `{"code":-32601,"message":"Method not found"}`
}

// tools are the descriptors of a list. Those of the long one are about as long
// as those of the servers that agents use.
func (q request) tools() string {
	if !q.many {
		return `{"name":"` + Classified + `","inputSchema":{"type":"object"}},{"name":"` + Unclassified + `","inputSchema":{"type":"object"}}`
	}
	all := make([]string, Many)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"tool-%02d","description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}}`,
			i, strings.Repeat("Says what is at a path. ", 10))
	}
	return strings.Join(all, ",")
}

func (s *Server) count(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[method]++
}

func (s *Server) writeCounts(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.counts) // the reader checks what it gets
}

// request is what the server needs of a body.
type request struct {
	id        jsontext.Value
	method    string
	arguments jsontext.Value
	many      bool
}

// read takes the members apart in one pass; encoding/json would read large
// arguments several times and be most of what is measured.
func read(body []byte) (request, error) {
	q := request{arguments: jsontext.Value("{}")}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	err := members(d, func(name string) error {
		switch name {
		case "id":
			v, err := d.ReadValue()
			q.id = v.Clone()
			return err
		case "method":
			t, err := d.ReadToken()
			if err == nil {
				q.method = t.String()
			}
			return err
		case "params":
			return members(d, func(name string) error {
				v, err := d.ReadValue()
				if name == "arguments" {
					q.arguments = v.Clone()
				}
				return err
			})
		}
		return d.SkipValue()
	})
	return q, err
}

// members calls visit after each name of the object that d stands before.
func members(d *jsontext.Decoder, visit func(string) error) error {
	if d.PeekKind() != '{' {
		return errNoRequest
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := visit(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

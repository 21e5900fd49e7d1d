package exchange_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// got is one request as it reached the peer. Raw is every byte of its head.
type got struct {
	Verb   string
	Target string
	Host   string
	Header http.Header
	Body   []byte
	Raw    string
	ID     string // JSON text
	Method string
	Conn   string // the relay's end of the connection
}

// peer is a server that answers with whatever bytes a test gives it, and
// counts what came.
type peer struct {
	url string

	mu     sync.Mutex
	seen   []got
	dialed int
	live   map[string]bool // sessions that are open
	opened int
	conns  map[net.Conn]bool
	// accepted is given each connection, where a test has set it.
	accepted chan net.Conn
}

// script answers one request with bytes. A script that closes the connection
// ends it.
type script func(w net.Conn, g got)

func newPeer(t testing.TB, answer script) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return servePeer(t, listener, "http://"+listener.Addr().String()+"/mcp", answer)
}

func newTLSPeer(t testing.TB, config *tls.Config, answer script) *peer {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	return servePeer(t, listener, "https://"+listener.Addr().String()+"/mcp", answer)
}

func servePeer(t testing.TB, listener net.Listener, url string, answer script) *peer {
	p := &peer{url: url, live: map[string]bool{}, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.dialed++
			p.conns[conn] = true
			if p.accepted != nil {
				p.accepted <- conn
			}
			p.mu.Unlock()
			running.Go(func() { p.serve(conn, answer) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		for conn := range p.conns {
			conn.Close()
		}
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

func (p *peer) serve(conn net.Conn, answer script) {
	defer conn.Close()
	var raw bytes.Buffer
	reader := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		head, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
		raw.Reset()
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &m)
		g := got{Verb: request.Method, Target: request.RequestURI, Host: request.Host, Header: request.Header, Body: body, Raw: head, ID: string(m.ID), Method: m.Method, Conn: conn.RemoteAddr().String()}
		p.mu.Lock()
		p.seen = append(p.seen, g)
		p.mu.Unlock()
		answer(conn, g)
	}
}

// posts counts the POSTs of a method.
func (p *peer) posts(method string) int {
	n := 0
	for _, g := range p.all() {
		if g.Verb == "POST" && g.Method == method {
			n++
		}
	}
	return n
}

// methods lists what came, in order; a DELETE is called by its verb.
func (p *peer) methods() []string {
	var list []string
	for _, g := range p.all() {
		if g.Verb != "POST" {
			list = append(list, g.Verb)
			continue
		}
		list = append(list, g.Method)
	}
	return list
}

func (p *peer) all() []got {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]got(nil), p.seen...)
}

// last is the latest request of a method.
func (p *peer) last(t testing.TB, method string) got {
	t.Helper()
	all := p.all()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Method == method {
			return all[i]
		}
	}
	t.Fatalf("the peer saw no %s", method)
	return got{}
}

func (p *peer) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialed
}

// write sends a reply with a length.
func write(w io.Writer, status int, kind, body string, headers ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	_, _ = io.WriteString(w, b.String())
}

// send writes bytes as they are.
func send(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// result is a response with the id of g.
func result(g got, body string) string {
	return `{"jsonrpc":"2.0","id":` + g.ID + `,"result":` + body + `}`
}

// failure is an error response with an id of its own.
func failure(id string, code int, message string) string {
	text, _ := json.Marshal(message)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, text)
}

// event is one event of a stream.
func event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// stream begins a stream that ends with the connection.
const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

const hello = `{"content":[{"type":"text","text":"hello"}]}`

// answered is a JSON reply with the usual result.
func answered(w net.Conn, g got) { write(w, 200, "application/json", result(g, hello)) }

// modern speaks the stateless protocol and gives everything else to next.
func modern(next script) script {
	return func(w net.Conn, g got) {
		switch g.Method {
		case "server/discover":
			write(w, 200, "application/json", result(g, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`))
		default:
			next(w, g)
		}
	}
}

// legacy is a server with sessions, as the protocol describes it. What comes
// with a session that is open goes to next.
func (p *peer) legacy(next script) script {
	return func(w net.Conn, g got) {
		id := g.Header.Get("Mcp-Session-Id")
		switch {
		case g.Verb == "DELETE":
			p.close(id)
			write(w, 200, "", "")
		case g.Method == "server/discover":
			write(w, 400, "application/json", failure("null", -32000, "Bad Request: Server not initialized"))
		case g.Method == "initialize":
			write(w, 200, "application/json", result(g, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}`), "Mcp-Session-Id: "+p.open())
		case g.Method == "notifications/initialized":
			write(w, 202, "", "")
		case !p.holds(id):
			write(w, 404, "text/plain", "session not found\n")
		default:
			next(w, g)
		}
	}
}

func newLegacyPeer(t testing.TB, next script) *peer {
	var p *peer
	var ready sync.WaitGroup
	ready.Add(1)
	p = newPeer(t, func(w net.Conn, g got) { ready.Wait(); p.legacy(next)(w, g) })
	ready.Done()
	return p
}

func (p *peer) open() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	id := fmt.Sprintf("s-%d", p.opened)
	p.live[id] = true
	return id
}

func (p *peer) close(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, id)
}

func (p *peer) holds(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live[id]
}

// sessions is how many are open.
func (p *peer) sessions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live)
}

// loseAll forgets every session, as a restart does.
func (p *peer) loseAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = map[string]bool{}
}

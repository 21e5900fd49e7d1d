// Package load makes calls as fast as one connection a client allows, and
// costs the machine as little as possible while it does: the request is built
// once, written in one piece, and the reply is read by hand.
//
// It promises that every call it counts was answered with HTTP 200 and holds
// the arguments as they were sent. It refuses to go on after the first that
// was not.
package load

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Plan says what to send, and how often.
type Plan struct {
	URL       string
	Roots     *x509.CertPool // nil: the system's
	Token     string         // bearer, empty for none
	List      bool           // ask for the tools instead of calling one
	Tool      string
	Arguments string // one JSON object
	Clients   int
	Calls     int // of each client
	Warmup    int // of each client, before the clock starts
}

// Result is what the clients saw.
type Result struct {
	Sent      int             // calls answered, warm-up included
	Elapsed   time.Duration   // from the first counted call to the end of the last
	Latencies []time.Duration // of the counted calls, in no order
	Bytes     int             // of the last reply's body
}

// Run makes the calls. The clients start counting together.
func Run(ctx context.Context, p Plan) (Result, error) {
	target, err := url.Parse(p.URL)
	if err != nil {
		return Result{}, fmt.Errorf("reading the target: %w", err)
	}
	request := p.request(target)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clients := make([]*client, p.Clients)
	for i := range clients {
		c, err := p.open(ctx, target)
		if err != nil {
			return Result{}, err
		}
		defer c.conn.Close()
		c.request, c.want = request, p.want()
		clients[i] = c
	}
	if err := each(clients, cancel, func(c *client) error { return c.calls(p.Warmup) }); err != nil {
		return Result{}, fmt.Errorf("warming up: %w", err)
	}
	for _, c := range clients {
		c.latencies = make([]time.Duration, 0, p.Calls)
	}
	began := time.Now()
	if err := each(clients, cancel, func(c *client) error { return c.calls(p.Calls) }); err != nil {
		return Result{}, err
	}
	r := Result{Elapsed: time.Since(began), Sent: p.Clients * (p.Calls + p.Warmup)}
	for _, c := range clients {
		r.Latencies, r.Bytes = append(r.Latencies, c.latencies...), len(c.body)
	}
	return r, nil
}

// each runs f for all clients at once and waits; the first failure stops all.
func each(clients []*client, stop func(), f func(*client) error) error {
	errs := make([]error, len(clients))
	var wait sync.WaitGroup
	for i, c := range clients {
		wait.Go(func() {
			if errs[i] = f(c); errs[i] != nil {
				stop()
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// want is what a reply has to hold.
func (p Plan) want() []byte {
	if p.List {
		return []byte(`"tools":[{`)
	}
	return []byte(p.Arguments)
}

// method is what is asked.
func (p Plan) method() string {
	if p.List {
		return "tools/list"
	}
	return "tools/call"
}

// body is the JSON-RPC request, in the shape of 2026-07-28.
func (p Plan) body() string {
	params := ""
	if !p.List {
		params = `"name":"` + p.Tool + `","arguments":` + p.Arguments + `,`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + p.method() + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// Request is one call as net/http sees it, for handlers in this process.
func (p Plan) Request(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, strings.NewReader(p.body()))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	for _, field := range p.fields() {
		r.Header.Set(field[0], field[1])
	}
	r.RequestURI = r.URL.RequestURI()
	return r, nil
}

// fields are the headers of a call.
func (p Plan) fields() [][2]string {
	fields := [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"MCP-Protocol-Version", "2026-07-28"},
		{"Mcp-Method", p.method()},
	}
	if !p.List {
		fields = append(fields, [2]string{"Mcp-Name", p.Tool})
	}
	if p.Token != "" {
		fields = append(fields, [2]string{"Authorization", "Bearer " + p.Token})
	}
	return fields
}

// request is the whole call in bytes.
func (p Plan) request(target *url.URL) []byte {
	body := p.body()
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", target.RequestURI(), target.Host)
	for _, field := range p.fields() {
		fmt.Fprintf(&b, "%s: %s\r\n", field[0], field[1])
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return []byte(b.String())
}

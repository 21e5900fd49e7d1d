package hostile

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one request as it came.
type Request struct {
	Verb       string
	Target     string
	Host       string
	Head       string // every byte of it, without the empty line
	Header     http.Header
	Body       []byte
	Method     string // of JSON-RPC
	ID         string // JSON text; empty for a notification
	Name       string // params.name
	Arguments  string // JSON text of params.arguments
	Params     json.RawMessage
	Connection int    // number of the connection, from 1
	ServerName string // of the TLS handshake
}

// Key is what a request is counted under: its method, or its verb where that is
// not POST.
func (r Request) Key() string {
	if r.Verb != http.MethodPost {
		return r.Verb
	}
	return r.Method
}

func newRequest(got *http.Request, head string, body []byte) Request {
	r := Request{Verb: got.Method, Target: got.RequestURI, Host: got.Host, Head: head, Header: got.Header, Body: body}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	// What is no message is found by faults.
	_ = json.Unmarshal(body, &message)
	r.ID, r.Method, r.Params = string(message.ID), message.Method, message.Params
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(message.Params, &params)
	r.Name, r.Arguments = params.Name, string(params.Arguments)
	return r
}

// Fill puts the request's own parts into a text: $ID and $ARGUMENTS.
func (r Request) Fill(text string) string {
	arguments := r.Arguments
	if arguments == "" {
		arguments = "null"
	}
	return strings.NewReplacer("$ID", r.ID, "$ARGUMENTS", arguments).Replace(text)
}

// Meta is a member of params._meta, empty where there is none.
func (r Request) Meta(name string) string {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(r.Params, &params)
	return string(params.Meta[name])
}

// requests is what came, in order.
type requests struct {
	mu      sync.Mutex
	changed *sync.Cond
	all     []Request
	faults  []string
	refused []error // handshakes that failed
}

func (l *requests) init() { l.changed = sync.NewCond(&l.mu) }

func (l *requests) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r)
	l.changed.Broadcast()
}

func (l *requests) broken(fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fault)
}

func (l *requests) handshake(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, err)
	l.changed.Broadcast()
}

// Requests are all requests so far, in order.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.all)
}

// Sequence lists the keys of all requests so far, in order.
func (s *Server) Sequence() []string {
	var keys []string
	for _, r := range s.Requests() {
		keys = append(keys, r.Key())
	}
	return keys
}

// Count is how many requests of a method came, or of GET or DELETE.
func (s *Server) Count(key string) int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.count(key)
}

func (l *requests) count(key string) (n int) {
	for _, r := range l.all {
		if r.Key() == key {
			n++
		}
	}
	return n
}

// Calls is how many tools/call came: the POSTs of the agents' requests.
func (s *Server) Calls() int { return s.Count("tools/call") }

// Last is the latest request of a method, or of GET or DELETE.
func (s *Server) Last(key string) Request {
	s.t.Helper()
	all := s.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Key() == key {
			return all[i]
		}
	}
	s.t.Fatalf("hostile: no %s came", key)
	return Request{}
}

// patience bounds what a test waits for; it passes only where a test fails.
const patience = 20 * time.Second

// Await waits until n requests of a key have come.
func (s *Server) Await(key string, n int) {
	s.t.Helper()
	s.await(func() bool { return s.log.count(key) >= n })
}

// AwaitRefusedHandshakes waits until n TLS handshakes have failed.
func (s *Server) AwaitRefusedHandshakes(n int) {
	s.t.Helper()
	s.await(func() bool { return len(s.log.refused) >= n })
}

func (s *Server) await(ready func() bool) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		late = true
		s.log.changed.Broadcast()
	})
	defer timer.Stop()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	for !ready() && !late {
		s.log.changed.Wait()
	}
	if !ready() {
		s.t.Fatalf("hostile: waited in vain for a request")
	}
}

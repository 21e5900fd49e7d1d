// Package front is what agents speak to: one MCP server over all servers that
// a caller may reach, the same for each server by itself, and the plain face
// for runtimes without MCP.
//
// It promises that a request is authenticated before anything about a server
// is revealed, that a body is read whole, bounded and strictly before it is
// acted on, and that every refusal names its stage and call id. It refuses
// foreign origins and hosts, and it never shows an upstream's bytes but the
// answer itself. A server that is slow or down never loses an agent the lists
// of the others.
package front

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// MaxHeaderText bounds X-Relay-Run, in bytes.
const MaxHeaderText = 128

// Authenticate names the caller of a request, or refuses it.
type Authenticate func(context.Context, http.Header) (call.Principal, *call.Refusal)

// Options make a front. All fields down to NewID must be set.
type Options struct {
	Relay        *relay.Relay
	Authenticate Authenticate
	Name         string // of serverInfo
	Version      string
	Now          func() time.Time
	NewID        func(time.Time) string // a call id, a ULID
	// LocalHosts refuses requests whose Host is not a loopback name: set
	// where the relay listens on loopback (DNS rebinding).
	LocalHosts bool
	// PublicURL is what clients know the relay by, without a slash at its end.
	// Empty: on loopback the one in use, elsewhere none.
	PublicURL string
	// AuthorizationServers are the issuers that clients get tokens from. None: no
	// metadata is served.
	AuthorizationServers []string
}

// Front serves the agents' HTTP surface.
type Front struct {
	Options
	info json.RawMessage // serverInfo: the relay's own, on both eras

	running running
	levels  levels
}

// New makes the handler.
func New(o Options) *Front {
	return &Front{Options: o, info: quoted(map[string]string{"name": o.Name, "version": o.Version})}
}

// ServeHTTP routes by path, without redirects: a trailing slash is the same path.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer f.recovered(w, r)
	// From here on, so that a stranger who sends no body is not waited for. A
	// surface without deadlines (a Lambda event is whole already) says so.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(BodyBudget))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	f.route(w, r, segments(r))
}

// recovered answers with a constant where a handler panicked. The value stays
// here: it may hold anything.
func (f *Front) recovered(w http.ResponseWriter, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	c := f.newCall(r, call.FacePlain)
	refusal := f.Relay.Refuse(r.Context(), c, call.Refuse(call.Internal, "a panic of type %T", value))
	if w.Header().Get("Content-Type") == eventStream {
		return // it has begun: another reply inside it would be read as a part of it
	}
	writeProblem(w, c, refusal)
}

func (f *Front) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeHead(w, http.StatusMethodNotAllowed)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": f.Version})
}

func (f *Front) newCall(r *http.Request, face call.Face) call.Call {
	now := f.Now()
	return call.Call{ID: f.NewID(now), At: now, Face: face, Operation: call.OperationToolsCall}
}

// admit passes a request of a caller with a scope that may be read. The body of
// one that may not is not waited for: the connection ends soon after the reply.
func (f *Front) admit(w http.ResponseWriter, r *http.Request, c *call.Call, scope call.Scope) *call.Refusal {
	refusal := f.checkPost(r, c, scope)
	if refusal != nil {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(RefusedBudget))
	}
	return refusal
}

// checkPost passes a request that carries a call.
func (f *Front) checkPost(r *http.Request, c *call.Call, scope call.Scope) *call.Refusal {
	if refusal := f.check(r, c, http.MethodPost, scope); refusal != nil {
		return refusal
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return call.Refuse(call.UnsupportedMediaType, "")
	}
	return readContext(r, c)
}

// isJSON reports whether a content type is JSON in UTF-8 (RFC 8259, section
// 8.1); nearly all are spelled as here.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "us-ascii")
}

// check passes a request whose method, host, origin, caller and scope are
// right, in this order: nothing about a server is known before. One that
// passed a relay already is going in a circle.
func (f *Front) check(r *http.Request, c *call.Call, method string, scope call.Scope) *call.Refusal {
	if r.Method != method {
		return &call.Refusal{Reason: call.MethodNotAllowed, Detail: fmt.Sprintf("%.16q", r.Method), Allow: method}
	}
	if refusal := f.checkOrigin(r); refusal != nil {
		return refusal
	}
	principal, refusal := f.Authenticate(r.Context(), r.Header)
	if refusal != nil {
		return f.challenged(r, refusal, scope)
	}
	if !principal.For(r.URL.Path) {
		return f.challenged(r, call.Refuse(call.Unauthenticated, "the credential is for another path"), scope)
	}
	c.Principal = principal
	if !principal.May(scope) {
		return f.challenged(r, call.Refuse(call.InsufficientScope, "scope %s is missing", scope), scope)
	}
	if wire.Passed(r.Header) {
		return call.Refuse(call.Loop, "Via names a relay")
	}
	return nil
}

// readContext reads the optional headers of a call.
func readContext(r *http.Request, c *call.Call) (refusal *call.Refusal) {
	if c.Run, refusal = headerText(r, "X-Relay-Run"); refusal != nil {
		return refusal
	}
	if c.Turn, refusal = headerText(r, "X-Relay-Turn"); refusal != nil {
		return refusal
	}
	c.Traceparent = traceparent(r.Header["Traceparent"])
	return nil
}

// traceparent is the trace context of a request; one that is malformed or
// given twice is ignored, as 3.2.2 asks.
func traceparent(values []string) string {
	if len(values) != 1 || !wire.Traceparent(values[0]) {
		return ""
	}
	return values[0]
}

// headerText is the value of a header that may be given once; empty for none.
func headerText(r *http.Request, name string) (string, *call.Refusal) {
	values := r.Header[name]
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || len(values[0]) > MaxHeaderText || wire.HeaderValue(values[0]) != nil {
		return "", call.Refuse(call.BadRequest, "header %s is repeated, too long or malformed", name)
	}
	return values[0], nil
}

// Bounds of what a client may make the relay wait for.
const (
	BodyBudget    = 30 * time.Second // until a request's body is read
	RefusedBudget = time.Second      // until the connection of one that was refused unread is closed
	ReplyBudget   = 60 * time.Second // until a reply is taken off
)

// readBody reads at most wire.MaxBody bytes within [BodyBudget]. The deadline
// is lifted afterwards: left in place it would end the call that follows.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *call.Refusal) {
	body, refusal := readAll(r)
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, refusal
}

func readAll(r *http.Request) ([]byte, *call.Refusal) {
	if r.ContentLength > wire.MaxBody {
		return nil, call.Refuse(call.TooLarge, "Content-Length %d", r.ContentLength)
	}
	size := r.ContentLength
	if size < 0 {
		size = 512
	}
	body := make([]byte, 0, size+1)
	limited := io.LimitReader(r.Body, wire.MaxBody+1)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := limited.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if len(body) > wire.MaxBody {
			return nil, call.Refuse(call.TooLarge, "over %d bytes", wire.MaxBody)
		}
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, &call.Refusal{Reason: call.BadRequest, Detail: "the body could not be read", Err: err}
		}
	}
}

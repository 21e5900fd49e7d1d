package exchange

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// answer is what a server said to one message.
type answer struct {
	status  int
	session string // Mcp-Session-Id, checked; empty for none
	// reply is the response to the message: its id is ours, or it is an error
	// without an id, as servers give where they did not read the message.
	reply wire.Reply
	ours  bool // reply has our id
	// text is the start of a body that holds no such reply, html whether it is
	// a web page. Only replies that are not 2xx have them.
	text       []byte
	html       bool
	retryAfter int
}

// isError reports whether the server answered with a JSON-RPC error.
func (a *answer) isError() bool { return a.reply.Error != nil }

// ok reports whether the HTTP status says success.
func (a *answer) ok() bool { return a.status/100 == 2 }

// read ends the response. A 2xx reply that is not the message's response is a
// refusal; with any other status the answer says what there was.
func (x *Exchange) read(p *response, r *Request, m *message) (answer, *call.Refusal) {
	a := answer{status: p.StatusCode, session: p.Header.Get("Mcp-Session-Id")}
	defer p.done()
	if refusal := p.turnedAway(r); refusal != nil {
		return a, refusal
	}
	a.retryAfter = retryAfter(p.Header, x.now())
	p.facts.RetryAfter = a.retryAfter
	err := p.readBody(r, m, &a)
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, errContentType):
		return a, p.oddContent()
	case a.ok() || isTimeout(p.ctx, err):
		return a, bodyFault(p.ctx, a.status, err)
	}
	return a, nil // the status says more than a body that could not be read
}

// readBody fills the answer from the body.
func (p *response) readBody(r *Request, m *message, a *answer) error {
	limit, media := r.Limits.ResultBytes, mediaType(p.Header)
	if a.ok() && media != mediaJSON && media != mediaStream {
		return errContentType
	}
	body, length, err := decoded(p, limit)
	if err != nil {
		return err
	}
	if media == mediaStream {
		if err = readStream(body, r, m, a); err == nil {
			p.whole = p.drained(lingerTime)
		}
		return err
	}
	data, err := readAll(body, length, limit)
	if err != nil {
		return err
	}
	p.whole = true
	reply, err := wire.ReadReply(data)
	if err == nil && a.take(reply, m) {
		return nil
	}
	if !a.ok() {
		a.text, a.html = data, media == mediaHTML || looksHTML(data)
		return nil
	}
	if err == nil {
		return foreign(reply)
	}
	return quoting(err, data)
}

// take keeps reply if it is the response to m, or an error without an id.
func (a *answer) take(reply wire.Reply, m *message) bool {
	if reply.Method != "" {
		return false
	}
	a.ours = reply.ID.Spells(m.id)
	if !a.ours && !(reply.ID.IsZero() && reply.Error != nil) {
		return false
	}
	a.reply = reply
	return true
}

// turnedAway is the refusal of a redirect or of the credential. Their bodies
// are not read.
func (p *response) turnedAway(r *Request) *call.Refusal {
	switch {
	case p.StatusCode/100 == 3:
		refusal := &call.Refusal{Reason: call.Redirect, Status: p.StatusCode, Detail: "status " + strconv.Itoa(p.StatusCode)}
		p.facts.Location = location(p.Header.Get("Location"), r, refusal)
		return refusal
	case p.StatusCode == http.StatusUnauthorized || p.StatusCode == http.StatusForbidden:
		p.facts.Challenge = challenge(p.Header)
		return &call.Refusal{Reason: call.UpstreamUnauthorized, Status: p.StatusCode, Detail: "status " + strconv.Itoa(p.StatusCode)}
	}
	return nil
}

// location gives the host that a redirect names, in the case that it came in,
// and words for the operator.
// The path is told only where it is the same server's, where it is usually a
// missing slash; a query may carry anything and is never told.
func location(value string, r *Request, refusal *call.Refusal) (host string) {
	here := r.Route.Endpoint()
	to, err := url.Parse(value)
	if value == "" || err != nil {
		refusal.Detail += ", no usable Location"
		return ""
	}
	host = to.Hostname()
	if host == "" || strings.EqualFold(host, here.Host()) {
		refusal.Detail, refusal.Quote = refusal.Detail+" to the same host, path", clip([]byte(to.Path))
		return here.Host()
	}
	if wire.HeaderValue(host) != nil || len(host) > 253 {
		refusal.Detail += ", no usable Location"
		return ""
	}
	refusal.Detail += " to another host"
	return host
}

// MaxChallenge bounds [Facts.Challenge], in bytes. It is half of the head that
// a reply may have and far over what a record keeps, so that a credential in a
// challenge can be found whole by whoever masks it.
const MaxChallenge = 32 << 10

// challenge is the server's WWW-Authenticate for the record, all of them. API
// Gateway renames the header on its way out. Nothing in it is ever followed.
func challenge(h http.Header) string {
	values := h["Www-Authenticate"]
	if len(values) == 0 {
		values = h["X-Amzn-Remapped-Www-Authenticate"]
	}
	value := strings.Join(values, ", ") // one list (RFC 9110 section 5.3)
	visible := func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}
	return strings.Map(visible, value[:min(len(value), MaxChallenge)])
}

// oddContent is the refusal of a success that is neither JSON nor a stream.
func (p *response) oddContent() *call.Refusal {
	refusal := &call.Refusal{Reason: call.ContentType, Status: p.StatusCode}
	values := p.Header["Content-Type"]
	switch {
	case p.StatusCode == http.StatusAccepted || p.StatusCode == http.StatusNoContent || len(values) == 0 && p.ContentLength == 0:
		refusal.Reason, refusal.Detail = call.Protocol, "a request was answered with status "+strconv.Itoa(p.StatusCode)+" and nothing else"
	case len(values) == 0:
		refusal.Detail = "no content type"
	default:
		refusal.Detail, refusal.Quote = "content type", clip([]byte(values[0]))
	}
	return refusal
}

// looksHTML reports whether a body is a web page whatever its type says.
func looksHTML(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("<"))
}

// maxRetryAfter is the longest wait that is passed on, in seconds.
const maxRetryAfter = 3600

// retryAfter is the server's wish in seconds, 0 for none (RFC 9110 section 10.2.3).
func retryAfter(h http.Header, now time.Time) int {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		seconds = int64(at.Sub(now).Round(time.Second) / time.Second)
	}
	return int(min(max(seconds, 0), maxRetryAfter))
}

// Package event turns events of AWS into what the relay understands: an API
// Gateway REST proxy event becomes a request to an [http.Handler], whose reply
// streams back while it is written, and a DynamoDB stream batch becomes one
// call a record.
//
// It promises that the handler sees the body's exact bytes, one value of each
// header that may have only one, and a deadline that leaves time for the audit
// record; that the reply ends only after the handler has returned; and that
// nothing of a panic reaches the caller. It refuses events over its bounds,
// undecodable bodies, ambiguous headers, and header names with an underscore,
// which some gateways confuse with a hyphen (CVE-2025-64484). It knows nothing
// of MCP, callers or policy.
package event

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
)

// Bounds of an event. A body over the relay's own 1 MiB is not refused here
// but by the handler, which knows the caller and leaves a record.
const (
	MaxBody        = 10 << 20 // bytes after decoding; API Gateway's payload quota is 10 MB
	MaxHeaderBytes = 64 << 10 // names and values; API Gateway passes at most 10,240 bytes
	MaxHeaders     = 200      // values
	MaxPath        = 8 << 10  // bytes of path and query; API Gateway counts them among its 10,240
)

// Times of an invocation.
const (
	// Reserve is what the request context's deadline leaves of the function's
	// own, to pass the last bytes on before the platform ends the process. The
	// pipeline keeps its own, larger reserve for the audit record.
	Reserve = 100 * time.Millisecond
	// CloseWait bounds how long closing a reply early waits for the handler.
	// The runtime library ends the process right after, and the handler's last
	// act is the call's final.
	CloseWait = 5 * time.Second
	// RestWait bounds [Options.Rest]: what a server has to be listed in, and a
	// little more.
	RestWait = 12 * time.Second
)

// Options of a [Handler]. The zero value is usable.
type Options struct {
	// Refuse renders what the adapter itself refuses; nil answers with a
	// constant in the form of the path's face. Method and path of the request
	// are set, header and body may not be.
	Refuse func(http.ResponseWriter, *http.Request, *call.Refusal)
	// Log takes one line for each panic: its type and stack, never its value.
	// nil keeps silent.
	Log *slog.Logger
	// Rest is called when a reply has ended, before the platform may freeze the
	// process, and waits for what runs in the background: until its context ends,
	// after [RestWait] or with the invocation. nil: nothing does.
	Rest func(context.Context)
	// Reserve and CloseWait replace the constants of the same name where they
	// are not zero.
	Reserve, CloseWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Refuse == nil {
		o.Refuse = answer
	}
	if o.Rest == nil {
		o.Rest = func(context.Context) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Reserve == 0 {
		o.Reserve = Reserve
	}
	if o.CloseWait == 0 {
		o.CloseWait = CloseWait
	}
	return o
}

// Handler serves API Gateway REST proxy events with h, for an integration in
// response transfer mode STREAM. It returns as soon as h has written or
// flushed something, or has returned; the rest streams through the response's
// body. Closing the body early cancels the request context and waits for h, at
// most [CloseWait]. The error is always nil: what is refused has a status.
func Handler(h http.Handler, o Options) func(context.Context, events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
	o = o.withDefaults()
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
		serve := h
		r, refusal := request(e)
		if refusal != nil {
			serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.Refuse(w, r, refusal) })
		}
		ctx, cancel := bounded(ctx, o.Reserve)
		s := newStream(cancel, o)
		s.ends, _ = ctx.Deadline()
		go s.serve(serve, r.WithContext(ctx))
		return s.response(), nil
	}
}

// bounded gives the request its context: the function's deadline less the reserve.
func bounded(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-reserve))
	}
	return context.WithCancel(ctx)
}

// answer renders a refusal that came before any handler: a JSON-RPC error where
// the path is an MCP endpoint, problem+json (RFC 9457) elsewhere.
func answer(w http.ResponseWriter, r *http.Request, refusal *call.Refusal) {
	row := refusal.Row()
	contentType, reply := "application/problem+json", map[string]any{
		"title": row.Sentence, "status": row.Status, "reason": row.Reason,
		"stage": row.Stage, "outcome": row.Outcome, "effect": row.Impact,
	}
	if strings.HasSuffix(r.URL.Path, "/mcp") {
		data := map[string]any{"reason": row.Reason, "stage": row.Stage, "effect": row.Impact}
		failure := map[string]any{"code": row.Code, "message": string(row.Stage) + ": " + row.Sentence, "data": data}
		contentType, reply = "application/json", map[string]any{"jsonrpc": "2.0", "id": nil, "error": failure}
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(row.Status)
	_ = json.NewEncoder(w).Encode(reply)
}

package relay

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/exchange"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// answered turns a reply into an answer. What asks for input is passed on only
// where the server's entry says so; a task never is, since no agent could follow
// it through the relay.
func (r *Relay) answered(p plan, reply exchange.Reply) (Answer, *call.Refusal) {
	answer := Answer{Result: reply.Result, Facts: reply.Facts, isError: reply.IsError}
	if reply.Error != nil {
		answer.Error, answer.Code = reply.Error.Raw, reply.Error.Code
		if refusal := r.misdirected(p, answer); refusal != nil {
			return Answer{Facts: reply.Facts}, refusal
		}
		return answer, nil
	}
	switch reply.ResultType {
	case "", resultComplete:
		return answer, nil
	case resultInputRequired:
		return r.question(p, answer)
	}
	return Answer{Facts: reply.Facts}, call.Refuse(call.TaskRefused, "resultType %s", reply.ResultType)
}

// The resultTypes of MCP 2026-07-28.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
)

// redacted masks every form of every secret that the call sent.
func redacted(a Answer, t *trail) Answer {
	mask := func(text *json.RawMessage) {
		masked, n := t.masker.JSON(*text)
		*text = masked
		t.record.Masked += n
	}
	mask(&a.Result)
	mask(&a.Error)
	a.Facts.Instructions = t.masker.Text(a.Facts.Instructions)
	a.Tools = slices.DeleteFunc(a.Tools, func(tool catalog.Tool) bool { return t.masker.Text(tool.Name) != tool.Name })
	for i := range a.Tools {
		mask(&a.Tools[i].Raw)
	}
	for i := range a.Items {
		a.Items[i].Name = t.masker.Text(a.Items[i].Name)
		mask(&a.Items[i].Raw)
	}
	for i, skip := range a.Skips {
		a.Skips[i].Name, a.Skips[i].Reason = t.masker.Text(skip.Name), t.masker.Text(skip.Reason)
	}
	return a
}

// noteList records what an acquisition found: an odd item is left out, never
// unsaid.
func noteList(record *audit.Record, a Answer) {
	record.Items, record.Skipped = len(a.Tools)+len(a.Items), len(a.Skips)
	for _, skip := range a.Skips[:min(len(a.Skips), audit.MaxSkips)] {
		record.Skips = append(record.Skips, audit.Skip{Name: begin(skip.Name), Reason: begin(skip.Reason)})
	}
}

// maxText bounds what a record holds of a server's own text, in bytes: a tool's
// name may have 128 characters, the longest challenge seen has about 300 bytes.
const maxText = 512

// begin is the beginning of what a server wrote.
func begin(text string) string { return text[:min(len(text), maxText)] }

// note records what the exchange came to, and hides the ids of its sessions:
// who has one may speak in its caller's name.
func (r *Relay) note(t *trail, f exchange.Facts) {
	noteFacts(&t.record, f)
	for _, id := range f.SessionIDs {
		r.hide(t, id)
	}
}

// hide masks the id of a session from here on.
func (r *Relay) hide(t *trail, id string) {
	if len(id) < secret.MinLength {
		return
	}
	value := secret.NewValue([]byte(id), "")
	if slices.ContainsFunc(t.ids, value.Same) {
		return
	}
	t.ids = append(t.ids, value)
	t.masker = r.maskers.For(slices.Concat(t.values, t.ids)...)
}

func noteFacts(record *audit.Record, f exchange.Facts) {
	if f.Address.IsValid() {
		record.Address = f.Address.String()
	}
	record.Status, record.Era, record.ProtocolVersion = f.Status, string(f.Era), f.Version
	record.Session, record.Location, record.Challenge = f.Session, f.Location, f.Challenge
	record.Posts += f.Posts
	record.ServerRequests += f.ServerRequests
	record.Notifications += f.Notifications
	record.CancelSent = f.Cancelled
	if record.SessionLost = record.SessionLost || f.Lost; f.Again != "" {
		record.Again = f.Again
	}
	record.BytesOut += f.BytesOut
	record.BytesIn += f.BytesIn
}

// final: what happened. The record is durable when final returns, or, where
// the tenant says so, when Answer.Settle does. A final that cannot be written
// withholds nothing: its log line carries it, marked.
func (r *Relay) final(ctx context.Context, t trail, p plan, a Answer, refusal *call.Refusal) (Answer, *call.Refusal) {
	record := t.record
	record.Arguments(p.call.Arguments, argumentsMode(p, t), t.masker.Begin)
	// Masked as they came, then made what a record holds.
	record.Location = strings.ToLower(t.masker.Text(record.Location))
	record.Challenge = begin(t.masker.Text(record.Challenge))
	restate(&record, p, t)
	record.List = p.call.List
	noteList(&record, a)
	if refusal != nil {
		refusal = r.refusal(ctx, t, p, refusal)
		record.Refuse(refusal)
	} else {
		record.Answer(answerReason(a))
		record.RPCCode, record.ResultType = a.Code, a.ResultType
	}
	record.Finish(r.Now())
	a.CallID = record.CallID
	write := func() { r.write(ctx, record) }
	if p.tenant != nil && p.tenant.Settings.AuditFinal == registry.FinalAfter {
		a.Settle = sync.OnceFunc(write)
		return a, refusal
	}
	write()
	a.Settle = func() {}
	return a, refusal
}

// refusal makes a refusal fit to be seen: the caller's own copy, its detail
// masked. A cause that only the relay's operators can mend is logged.
func (r *Relay) refusal(ctx context.Context, t trail, p plan, refused *call.Refusal) *call.Refusal {
	own := *refused
	own.Explain = p.tenant != nil && p.tenant.Settings.ExplainRefusals
	own.Detail = t.masker.Text(own.Detail)
	if len(own.Quote) > 0 {
		begin := t.masker.Begin(own.Quote, call.MaxQuote)
		own.Detail += ": " + strconv.Quote(string(begin[:min(len(begin), call.MaxQuote)]))
		own.Quote = nil
	}
	switch own.Reason {
	case call.PolicyUnavailable, call.AuditUnavailable, call.SecretUnavailable, call.Internal:
		r.complain(ctx, t.record.CallID, own.Reason, own.Err, t.masker.Text)
	}
	return &own
}

// complain logs why a store or the relay itself failed.
func (r *Relay) complain(ctx context.Context, callID string, reason call.Reason, err error, mask func(string) string) {
	if err == nil {
		return
	}
	r.Log.LogAttrs(ctx, slog.LevelError, "failed",
		slog.String("call_id", callID), slog.String("reason", string(reason)), slog.String("error", mask(err.Error())))
}

func answerReason(a Answer) call.Reason {
	switch {
	case a.Error != nil:
		return call.RPCError
	case a.isError:
		return call.ToolError
	}
	return call.OK
}

// argumentsMode keeps a preview only where it could be masked: of a call that
// ended before its credential was read, a digest is kept.
func argumentsMode(p plan, t trail) string {
	if p.tenant == nil || p.server == nil {
		return registry.ArgumentsDigest
	}
	mode := p.tenant.Settings.AuditArguments
	if mode != registry.ArgumentsNone && len(t.values) == 0 && len(p.server.Auth.References()) > 0 {
		return registry.ArgumentsDigest
	}
	return mode
}

// write makes the final durable and leaves the canonical line, last.
func (r *Relay) write(ctx context.Context, record audit.Record) {
	bounded, cancel := detached(ctx)
	defer cancel()
	err := r.Recorder.Final(bounded, record)
	if err == nil {
		r.Lines.Later(&record)
		return
	}
	r.Log.LogAttrs(ctx, slog.LevelError, "final_unwritten", slog.String("call_id", record.CallID), slog.String("error", err.Error()))
	r.refused.unwritten.Add(1)
	_ = r.Lines.Record(&record) // a log that cannot be written has nowhere to say so
}

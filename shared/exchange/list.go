package exchange

import (
	"context"
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// List reads the server's list that r.List names, page by page: each item as
// it came. A list that cannot be read whole is an error, never a part; a server
// that announced no such list, or does not know the method, has an empty one.
// Its error is a [*call.Refusal]; the facts are filled either way.
func (x *Exchange) List(ctx context.Context, r Request) ([]json.RawMessage, Facts, error) {
	var f Facts
	r.facts = &f
	r.ready()
	l, ok := wire.ListingOf(r.List)
	if !ok {
		return nil, f, call.Refuse(call.Internal, "a list called %q", r.List)
	}
	items, refusal := x.pages(ctx, &r, message{method: l.Method, meta: r.Meta, list: r.List}, l.Member)
	if refusal != nil {
		f.unnamed(refusal)
		return nil, f, listing(refusal, l.Method)
	}
	return items, f, nil
}

// pages reads every page of the list that m asks for.
func (x *Exchange) pages(ctx context.Context, r *Request, m message, member string) ([]json.RawMessage, *call.Refusal) {
	var items, cursors []json.RawMessage
	for range r.Limits.Pages {
		reply, refusal := x.ask(ctx, r, &m)
		if refusal != nil && refusal.Err == errLacking || reply.Error != nil && reply.Error.Code == call.CodeMethodNotFound && m.cursor == nil {
			return nil, nil
		}
		if refusal != nil {
			return nil, refusal
		}
		if reply.Error != nil {
			refusal := call.Refuse(call.ListFailed, "%s: status %d, error %d", m.method, r.facts.Status, reply.Error.Code)
			refusal.Status, refusal.RetryAfter = r.facts.Status, r.facts.RetryAfter
			return nil, refusal
		}
		page, ok := wire.Elements(reply.Result, member)
		if !ok {
			return nil, call.Refuse(call.ListFailed, "%s: the result has no list called %s", m.method, member)
		}
		if items = append(items, page...); len(items) > r.Limits.Items {
			return nil, call.Refuse(call.ListTooLong, "%s: more than %d items", m.method, r.Limits.Items)
		}
		cursor, fault := wire.NextCursor(reply.Result, r.facts.Era == session.Legacy, cursors)
		if fault != nil {
			return nil, call.Refuse(call.ListFailed, "%s: %v", m.method, fault)
		}
		if cursor == nil {
			return items, nil
		}
		cursors = append(cursors, cursor)
		m.cursor = cursor
	}
	return nil, call.Refuse(call.ListTooLong, "%s: more than %d pages", m.method, r.Limits.Pages)
}

// listing is the refusal of a list that failed: reading one has no effect, so
// nothing ran. What failed before the list, or because of the caller, keeps
// its reason.
func listing(refusal *call.Refusal, method string) *call.Refusal {
	told := *refusal
	told.Impact = call.ImpactNone
	switch refusal.Reason {
	case call.Redirect, call.Cancelled, call.SessionLost:
		return &told
	}
	if refusal.Row().Stage == call.StageCall {
		told.Reason, told.Detail, told.Err = call.ListFailed, method+": "+refusal.Error(), refusal
	}
	return &told
}

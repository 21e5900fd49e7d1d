package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// maxCursor bounds a cursor, in bytes. It is the server's own text sent back
// to it; those seen in the field are numbers and encoded keys.
const maxCursor = 8 << 10

// lists says how each list is asked for: by which method, and under which name
// its result has the items.
func lists(l call.List) (method, member string, ok bool) {
	switch l {
	case call.ListTools:
		return "tools/list", "tools", true
	case call.ListResources:
		return "resources/list", "resources", true
	case call.ListTemplates:
		return "resources/templates/list", "resourceTemplates", true
	case call.ListPrompts:
		return "prompts/list", "prompts", true
	}
	return "", "", false
}

// List reads the server's list that r.List names, page by page: each item as
// it came. A list that cannot be read whole is an error, never a part; a server
// that announced no such list, or does not know the method, has an empty one.
// Its error is a [*call.Refusal]; the facts are filled either way.
func (x *Exchange) List(ctx context.Context, r Request) ([]json.RawMessage, Facts, error) {
	var f Facts
	r.facts = &f
	r.ready()
	method, member, ok := lists(r.List)
	if !ok {
		return nil, f, call.Refuse(call.Internal, "a list called %q", r.List)
	}
	items, refusal := x.pages(ctx, &r, message{method: method, meta: r.Meta, list: r.List}, member)
	if refusal != nil {
		return nil, f, listing(refusal, method)
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
		page, ok := elements(reply.Result, member)
		if !ok {
			return nil, call.Refuse(call.ListFailed, "%s: the result has no list called %s", m.method, member)
		}
		if items = append(items, page...); len(items) > r.Limits.Items {
			return nil, call.Refuse(call.ListTooLong, "%s: more than %d items", m.method, r.Limits.Items)
		}
		cursor, fault := nextCursor(reply.Result, r.facts.Era, cursors)
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

// elements splits a member that is an array into its elements, as they came.
// The result was checked when it was read.
func elements(result json.RawMessage, name string) ([]json.RawMessage, bool) {
	raw, ok := wire.Member(result, name)
	if !ok || len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var list []json.RawMessage
	return list, json.Unmarshal(raw, &list) == nil
}

// nextCursor is the cursor of the next page, nil after the last one. An empty
// cursor is one like any other since 2026-07-28; servers before it put it on
// their last page. A cursor that was followed before would be followed for
// ever.
func nextCursor(result json.RawMessage, era session.Era, followed []json.RawMessage) (json.RawMessage, error) {
	cursor, ok := wire.Member(result, "nextCursor")
	if !ok || string(cursor) == "null" || string(cursor) == `""` && era == session.Legacy {
		return nil, nil
	}
	if len(cursor) > maxCursor || cursor[0] != '"' {
		return nil, fmt.Errorf("an unusable cursor of %d bytes", len(cursor))
	}
	for _, earlier := range followed {
		if bytes.Equal(earlier, cursor) {
			return nil, fmt.Errorf("a cursor came twice, after %d pages", len(followed))
		}
	}
	return cursor, nil
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

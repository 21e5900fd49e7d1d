package exchange

import (
	"bytes"
	"context"
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// maxCursor bounds a cursor, in bytes. It is the server's own text sent back
// to it; those seen in the field are numbers and encoded keys.
const maxCursor = 8 << 10

// List reads the server's tools, page by page: each tool as it came. A list
// that cannot be read whole is an error, never a part. Its error is a
// [*call.Refusal]; the facts are filled either way.
func (x *Exchange) List(ctx context.Context, r Request) ([]json.RawMessage, Facts, error) {
	var f Facts
	r.facts = &f
	tools, refusal := x.pages(ctx, &r)
	if refusal != nil {
		return nil, f, listing(refusal)
	}
	return tools, f, nil
}

func (x *Exchange) pages(ctx context.Context, r *Request) ([]json.RawMessage, *call.Refusal) {
	limits := r.Limits.withDefaults()
	var tools []json.RawMessage
	var cursors []json.RawMessage
	m := message{method: methodList, meta: r.Meta}
	for range limits.Pages {
		reply, refusal := x.ask(ctx, r, &m)
		if refusal != nil {
			return nil, refusal
		}
		if reply.Error != nil {
			return nil, call.Refuse(call.ListFailed, "tools/list: error %d", reply.Error.Code)
		}
		page, ok := elements(reply.Result, "tools")
		if !ok {
			return nil, call.Refuse(call.ListFailed, "tools/list: the result has no list of tools")
		}
		if tools = append(tools, page...); len(tools) > limits.Items {
			return nil, call.Refuse(call.ListTooLong, "more than %d tools", limits.Items)
		}
		cursor, refusal := nextCursor(reply.Result, r.facts.Era, cursors)
		if cursor == nil || refusal != nil {
			return tools, refusal
		}
		cursors = append(cursors, cursor)
		m.cursor = cursor
	}
	return nil, call.Refuse(call.ListTooLong, "more than %d pages", limits.Pages)
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
func nextCursor(result json.RawMessage, era session.Era, followed []json.RawMessage) (json.RawMessage, *call.Refusal) {
	cursor, ok := wire.Member(result, "nextCursor")
	if !ok || string(cursor) == "null" || string(cursor) == `""` && era == session.Legacy {
		return nil, nil
	}
	if len(cursor) > maxCursor || cursor[0] != '"' {
		return nil, call.Refuse(call.ListFailed, "tools/list: an unusable cursor of %d bytes", len(cursor))
	}
	for _, earlier := range followed {
		if bytes.Equal(earlier, cursor) {
			return nil, call.Refuse(call.ListFailed, "tools/list: a cursor came twice, after %d pages", len(followed))
		}
	}
	return cursor, nil
}

// listing is the refusal of a list that failed: reading one has no effect, so
// nothing ran. What failed before the list, or because of the caller, keeps
// its reason.
func listing(refusal *call.Refusal) *call.Refusal {
	told := *refusal
	told.Impact = call.ImpactNone
	switch refusal.Reason {
	case call.Redirect, call.Cancelled, call.SessionLost:
		return &told
	}
	if refusal.Row().Stage == call.StageCall {
		told.Reason, told.Detail, told.Err = call.ListFailed, "tools/list: "+refusal.Error(), refusal
	}
	return &told
}

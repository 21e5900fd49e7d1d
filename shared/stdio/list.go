package stdio

import (
	"context"
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// List reads one of the server's lists, page by page, into the reply's Items:
// each as it came. A list that cannot be read whole is an error, never a part;
// of a server that has no such list it is empty. Its error is a
// [*call.Refusal]; the reply's Facts are filled either way.
func (p *Pool) List(ctx context.Context, r Request) (Reply, error) {
	var reply Reply
	if r.List == "" {
		r.List = call.ListTools
	}
	k, ok := wire.ListingOf(r.List)
	if r.Key == "" || !ok {
		return reply, call.Refuse(call.Internal, "a list of %q", r.List)
	}
	r.Spec = r.Spec.withDefaults()
	r.Pages, r.Items = positive(r.Pages, DefaultPages), positive(r.Items, DefaultItems)
	refusal := p.use(ctx, &r, &reply.Facts, func(ctx context.Context, c *child) (failed *failure) {
		reply.Items, failed = c.pages(ctx, &r, &reply.Facts, k)
		return failed
	})
	if refusal != nil {
		reply.Items = nil
		return reply, listing(refusal, k.Method)
	}
	return reply, nil
}

// pages reads a list to its end.
func (c *child) pages(ctx context.Context, r *Request, f *Facts, k wire.Listing) ([]json.RawMessage, *failure) {
	if c.offers.Lacks(r.List) {
		return nil, nil
	}
	var items, cursors []json.RawMessage
	for range r.Pages {
		m := message{method: k.Method, meta: r.Meta, traceparent: r.Traceparent}
		if len(cursors) > 0 {
			m.cursor = cursors[len(cursors)-1]
		}
		reply, failed := c.put(ctx, r, f, &m)
		switch {
		case failed != nil:
			failed.again = failed.again && len(cursors) == 0
			return nil, failed
		case reply.Error != nil && reply.Error.Code == call.CodeMethodNotFound && len(cursors) == 0:
			return nil, nil
		case reply.Error != nil:
			return nil, fail(call.Refuse(call.ListFailed, "%s: error %d", k.Method, reply.Error.Code))
		}
		page, ok := wire.Elements(reply.Result, k.Member)
		if !ok {
			return nil, fail(call.Refuse(call.ListFailed, "%s: the result has no list called %s", k.Method, k.Member))
		}
		if items = append(items, page...); len(items) > r.Items {
			return nil, fail(call.Refuse(call.ListTooLong, "%s: more than %d items", k.Method, r.Items))
		}
		cursor, err := wire.NextCursor(reply.Result, c.era == Legacy, cursors)
		if err != nil {
			return nil, fail(call.Refuse(call.ListFailed, "%s: %v", k.Method, err))
		}
		if cursor == nil {
			return items, nil
		}
		cursors = append(cursors, cursor)
	}
	return nil, fail(call.Refuse(call.ListTooLong, "%s: more than %d pages", k.Method, r.Pages))
}

// listing is the refusal of a list that failed: reading one has no effect, so
// nothing ran. What failed before the list, or because of the caller, keeps
// its reason.
func listing(refusal *call.Refusal, method string) *call.Refusal {
	told := *refusal
	told.Impact = call.ImpactNone
	if refusal.Reason != call.Cancelled && refusal.Row().Stage == call.StageCall {
		told.Reason, told.Detail, told.Err = call.ListFailed, method+": "+refusal.Error(), refusal
	}
	return &told
}

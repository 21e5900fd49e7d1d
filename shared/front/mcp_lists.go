package front

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// views are the servers of the path. Where one server's lists could not be
// read at all that is a refusal, which has been recorded.
func (f *Front) views(r *http.Request, q request) ([]relay.View, *call.Refusal) {
	if q.desk.server == "" {
		return f.Relay.Views(r.Context(), q.call)
	}
	view, refusal := f.Relay.View(r.Context(), q.call)
	return []relay.View{view}, refusal
}

// list answers the methods that list: what the rules offer to this caller, by
// the order of servers and names, from what is kept of the servers.
func (f *Front) list(w http.ResponseWriter, r *http.Request, q request, l wire.Listing) {
	from, refusal := readPlace(q.Cursor)
	if refusal != nil {
		f.refuse(w, r, q, refusal)
		return
	}
	q.call.List = l.List
	views, refusal := f.views(r, q)
	if refusal != nil {
		writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
		return
	}
	var items []item
	for _, view := range views {
		own := rendered(q.desk, view, l.List)
		if failed := view.Failures[l.List]; failed != nil && len(own) == 0 && q.desk.server != "" {
			f.refuse(w, r, q, failed)
			return
		}
		items = append(items, own...)
	}
	page, next := cut(items, from)
	f.result(w, q, f.listResult(q, l, page, next, views))
}

// listResult is the result of a list: the descriptors as their servers sent
// them, but for the names that this path gives them.
func (f *Front) listResult(q request, l wire.Listing, page []item, next place, views []relay.View) json.RawMessage {
	size := envelopeSize * 8
	for _, i := range page {
		size += len(i.raw) + 1
	}
	result := append(make([]byte, 0, size), `{"`+l.Member+`":`...)
	result = appendItems(result, page, func(i item) json.RawMessage { return i.raw })
	if next != (place{}) {
		result = append(result, `,"nextCursor":"`+next.cursor()+`"`...)
	}
	return f.finish(result, q, views, l.List)
}

// metaUnavailable names the servers whose lists may be old or are missing. A
// prefix of _meta is a reversed domain (2026-07-28, basic, General fields).
const metaUnavailable = "dev.mcprelay/unavailable"

// finish ends an object with what goes with every list: how long it may be
// kept, by its caller alone, and which servers could not be read.
func (f *Front) finish(result []byte, q request, views []relay.View, list call.List) json.RawMessage {
	meta := map[string]any{}
	if down := unavailable(views, list); len(down) > 0 {
		meta[metaUnavailable] = down
	}
	if q.modern {
		result = append(result, `,"resultType":"complete","cacheScope":"private","ttlMs":`...)
		result = strconv.AppendInt(result, f.ttl(views).Milliseconds(), 10)
		meta[wire.MetaServerInfo] = f.info
	}
	if len(meta) > 0 {
		result = append(append(result, `,"_meta":`...), quoted(meta)...)
	}
	return append(result, '}')
}

// ttl is how long the lists of all views are fresh: not at all where one is
// missing.
func (f *Front) ttl(views []relay.View) time.Duration {
	least := relay.FreshFor
	for _, v := range views {
		if len(v.Failures) > 0 {
			return 0
		}
		least = min(least, v.Fresh.Sub(f.Now()))
	}
	return max(least, 0)
}

// unavailable says of servers that could not be read, or of which this list
// could not, what that came to, and of those that were not read yet that.
func unavailable(views []relay.View, list call.List) map[string]failure {
	down := map[string]failure{}
	for _, v := range views {
		switch {
		case v.Failure != nil:
			down[v.Server] = failed(v.Failure)
		case v.Failures[list] != nil:
			down[v.Server] = failed(v.Failures[list])
		case !v.Known():
			down[v.Server] = failure{Stage: call.StageList, Reason: "unread", Sentence: "the server's lists are being read for the first time"}
		}
	}
	return down
}

package front

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// ask takes tools/call, resources/read, prompts/get and completion/complete
// through the pipeline.
func (f *Front) ask(w http.ResponseWriter, r *http.Request, q request) {
	if refusal := f.addressed(r, &q); refusal != nil {
		f.refuse(w, r, q, refusal)
		return
	}
	reply, ctx := newReply(w, r)
	defer reply.close()
	defer f.running.begin(q, reply.cancel)()
	least := f.listens(q)
	if q.call.Notify = reply.sink(q, least); q.call.Notify != nil && !q.modern {
		q.call.Meta = listening(q.call.Meta, least)
	}
	answer, refusal := f.Relay.Run(ctx, q.call)
	defer answer.Settle()
	switch {
	case refusal != nil:
		reply.refuse(q.call, q.ID, mcpStatus(refusal), refusal)
	case answer.Error != nil:
		status, raw := rpcError(q.modern, answer)
		reply.answer(status, wire.AppendError(nil, q.ID, &wire.RPCError{Raw: raw}))
	default:
		head := wire.AppendResultHead(make([]byte, 0, len(q.ID.Raw())+envelopeSize), q.ID)
		parts := append([][]byte{head}, f.shaped(q, answer)...)
		reply.answer(http.StatusOK, append(parts, []byte(wire.ResultTail))...)
	}
}

// addressed finds what the request is about, and compares the headers that
// repeat arguments, as far as the tool's description is known here.
func (f *Front) addressed(r *http.Request, q *request) *call.Refusal {
	if refusal := q.desk.address(r.Context(), q); refusal != nil {
		return refusal
	}
	if !q.modern || q.call.Operation != call.OperationToolsCall {
		return nil
	}
	return wire.CheckParams(r.Header, f.Relay.Headers(r.Context(), q.call), q.Arguments)
}

// sink passes on what a server tells of the call: progress, and log messages
// from the level least on. Nil where the agent takes none, or asked for none.
func (p *reply) sink(q request, least string) func(string, json.RawMessage) {
	if !p.takes || q.ProgressToken == nil && least == "" {
		return nil
	}
	return func(method string, params json.RawMessage) {
		if method != wire.NoticeLog || wire.Reaches(params, least) {
			p.notify(method, params)
		}
	}
}

// listening is the _meta of an agent of an older era that takes log messages:
// such an agent cannot ask for them with its request, and a modern server sends
// none unasked.
func listening(meta json.RawMessage, least string) json.RawMessage {
	if len(meta) == 0 {
		return json.RawMessage(`{"` + wire.MetaLogLevel + `":"` + least + `"}`)
	}
	parts, err := wire.Splice(meta, wire.Set{Name: wire.MetaLogLevel, Value: json.RawMessage(`"` + least + `"`)})
	if err != nil {
		return meta
	}
	return bytes.Join(parts, nil)
}

// rpcError is a server's error as the agent gets it. A modern agent does not
// know the code that servers of before 2026-07-28 have for a URI without a
// resource, and looks for the codes of the protocol under their own statuses.
func rpcError(modern bool, a relay.Answer) (status int, raw json.RawMessage) {
	if !modern {
		return http.StatusOK, a.Error
	}
	old := a.Legacy()
	switch {
	case a.Code == call.CodeMethodNotFound:
		return http.StatusNotFound, a.Error
	case a.Code == call.CodeNoResource:
		return http.StatusOK, recoded(a.Error, call.CodeInvalidParams)
	case a.Code > call.CodeHeaderMismatch || a.Code < call.CodeUnsupportedVersion:
		return http.StatusOK, a.Error
	case old && a.Code != call.CodeMissingCapability: // it speaks of what the relay sent, in an era without these codes
		return http.StatusOK, recoded(a.Error, call.CodeCall)
	}
	return http.StatusBadRequest, a.Error
}

// recoded is an error under another code, its other bytes as they came.
func recoded(raw json.RawMessage, code int) json.RawMessage {
	if changed, err := wire.SetMember(raw, "code", quoted(code)); err == nil {
		return changed
	}
	return raw
}

// shaped is the result as the agent gets it: its links as it can follow them
// and, for a modern one, what 2026-07-28 requires of every result: its type,
// where a legacy server gave none, and the relay's serverInfo. All other bytes
// stay as they came; a result that cannot take members stays whole.
func (f *Front) shaped(q request, a relay.Answer) [][]byte {
	result := q.desk.result(q.call, a.Result)
	if result == nil {
		result = json.RawMessage(`{}`)
	}
	if !q.modern {
		return [][]byte{result}
	}
	changes := append(make([]wire.Set, 0, 4),
		wire.Set{Name: "resultType", Value: json.RawMessage(`"complete"`), Absent: true},
		wire.Set{Name: "_meta", Within: []wire.Set{{Name: wire.MetaServerInfo, Value: f.info}}})
	if q.call.Operation == call.OperationResourcesRead && a.ResultType == "" {
		// What one caller may read is no other's, whatever the server says.
		changes = append(changes,
			wire.Set{Name: "ttlMs", Value: json.RawMessage(`0`), Absent: keeps(result)},
			wire.Set{Name: "cacheScope", Value: json.RawMessage(`"private"`)})
	}
	parts, err := wire.Splice(result, changes...)
	if err != nil {
		return [][]byte{result}
	}
	return parts
}

// keeps reports whether a result says for how many milliseconds it may be kept:
// a whole number, none below 0 (2026-07-28, schema, CacheableResult). No client
// can count more of them than doubles do, 2^53.
func keeps(result json.RawMessage) bool {
	ttl, ok := wire.Member(result, "ttlMs")
	_, err := strconv.ParseUint(string(ttl), 10, 53)
	return ok && err == nil
}

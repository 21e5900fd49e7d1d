package front

import (
	"encoding/json"
	"net/http"

	"mcprelay/shared/wire"
)

// callTool takes tools/call through the pipeline.
func (f *Front) callTool(w http.ResponseWriter, r *http.Request, q request) {
	answer, refusal := f.Relay.Run(r.Context(), q.call)
	defer answer.Settle()
	if refusal != nil {
		writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
		return
	}
	if answer.Error != nil {
		body := wire.AppendError(nil, q.ID, &wire.RPCError{Raw: answer.Error})
		writeBytes(w, http.StatusOK, "application/json", body)
		return
	}
	result := answer.Result
	if q.modern {
		result = f.modernResult(result)
	}
	f.result(w, q, result)
}

// modernResult gives a result what 2026-07-28 requires of every result: its
// type, where a legacy server gave none, and the relay's serverInfo. All other
// bytes stay as they came.
func (f *Front) modernResult(result json.RawMessage) json.RawMessage {
	if _, ok := wire.Member(result, "resultType"); !ok {
		result = member(result, "resultType", json.RawMessage(`"complete"`))
	}
	meta, ok := wire.Member(result, "_meta")
	if !ok || len(meta) == 0 || meta[0] != '{' {
		meta = json.RawMessage(`{}`)
	}
	return member(result, "_meta", member(meta, wire.MetaServerInfo, quoted(f.serverInfo())))
}

// member sets one member and leaves an object that cannot take it as it is.
func member(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	changed, err := wire.SetMember(object, name, value)
	if err != nil {
		return object
	}
	return changed
}

// listTools reads the server's tools and shows those that the rules offer to
// this caller, under their offered names, in the server's order.
func (f *Front) listTools(w http.ResponseWriter, r *http.Request, q request) {
	answer, refusal := f.Relay.Acquire(r.Context(), q.call)
	defer answer.Settle()
	if refusal != nil {
		writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
		return
	}
	f.result(w, q, f.toolList(answer.Offered(), q.modern))
}

// toolList is the result of tools/list: the descriptors as their server sent
// them, in one page.
func (f *Front) toolList(tools []json.RawMessage, modern bool) json.RawMessage {
	list := appendItems([]byte(`{"tools":`), tools)
	if modern {
		list = append(list, `,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":`...)
		list = append(list, quoted(map[string]any{wire.MetaServerInfo: f.serverInfo()})...)
	}
	return append(list, '}')
}

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
	if result == nil {
		result = json.RawMessage(`{}`)
	}
	if q.modern {
		f.resultParts(w, q, f.modernResult(result))
		return
	}
	f.result(w, q, result)
}

// modernResult gives a result what 2026-07-28 requires of every result: its
// type, where a legacy server gave none, and the relay's serverInfo. All other
// bytes stay as they came; a result that cannot take members stays whole.
func (f *Front) modernResult(result json.RawMessage) [][]byte {
	parts, err := wire.Splice(result,
		wire.Set{Name: "resultType", Value: json.RawMessage(`"complete"`), Absent: true},
		wire.Set{Name: "_meta", Within: []wire.Set{{Name: wire.MetaServerInfo, Value: f.info}}})
	if err != nil {
		return [][]byte{result}
	}
	return parts
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
		list = append(list, `{"`+wire.MetaServerInfo+`":`...)
		list = append(append(list, f.info...), '}')
	}
	return append(list, '}')
}

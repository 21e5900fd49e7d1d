package front

import (
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
)

// isList reports whether the last part of a path names lists of a server.
func isList(name string) bool { return len(listsOf(name)) > 0 }

// listsOf are the lists that a path shows, in the order of its reply.
func listsOf(name string) []call.List {
	switch name {
	case "tools":
		return []call.List{call.ListTools}
	case "resources":
		return []call.List{call.ListResources, call.ListTemplates}
	case "prompts":
		return []call.List{call.ListPrompts}
	}
	return nil
}

// serveList is GET /v1/servers/{server}/tools, /resources and /prompts: what
// this caller may use of a server, each item as its server described it. Every
// list that is read is a call of its own in the trail.
func (f *Front) serveList(w http.ResponseWriter, r *http.Request, server, name string) {
	reply := []byte(`{`)
	for i, list := range listsOf(name) {
		c := f.newCall(r, call.FacePlain)
		c.Operation, c.Server, c.List = call.OperationDiscover, bounded(server), list
		refusal := f.check(r, &c, http.MethodGet)
		if refusal == nil {
			refusal = readContext(r, &c)
		}
		if refusal != nil {
			writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
			return
		}
		answer, refusal := f.Relay.Acquire(r.Context(), c)
		answer.Settle()
		if refusal != nil {
			writeProblem(w, c, refusal)
			return
		}
		if i == 0 {
			reply = append(reply, `"call_id":"`+c.ID+`"`...)
		}
		reply = append(reply, `,"`+string(list)+`":`...)
		reply = appendItems(reply, answer.Offered())
	}
	writeBytes(w, http.StatusOK, "application/json", append(reply, '}'))
}

func appendItems(dst []byte, items []json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	return append(dst, ']')
}

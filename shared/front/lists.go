package front

import (
	"encoding/json"
	"net/http"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
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

// admitList passes a request for a list, or answers it.
func (f *Front) admitList(w http.ResponseWriter, r *http.Request, server string) (c call.Call, ok bool) {
	c = f.newCall(r, call.FacePlain)
	c.Operation, c.Server = call.OperationDiscover, bounded(server)
	refusal := f.check(r, &c, http.MethodGet, call.ScopeCall)
	if refusal == nil {
		refusal = readContext(r, &c)
	}
	if refusal != nil {
		writeProblem(w, c, f.Relay.Refuse(r.Context(), c, refusal))
		return c, false
	}
	return c, true
}

// serveList is GET /v1/servers/{server}/tools, /resources and /prompts: what
// this caller may use of a server, each item as its server described it, in
// the order of their names. A list that could not be read and of which nothing
// is kept is a refusal, since an empty one would say something else.
func (f *Front) serveList(w http.ResponseWriter, r *http.Request, server, name string) {
	c, ok := f.admitList(w, r, server)
	if !ok {
		return
	}
	c.List = listsOf(name)[0]
	view, refusal := f.Relay.View(r.Context(), c)
	if refusal != nil {
		writeProblem(w, c, refusal)
		return
	}
	reply := []byte(`{"call_id":"` + c.ID + `"`)
	for _, list := range listsOf(name) {
		items := view.List(list)
		if failure := view.Failures[list]; failure != nil && len(items) == 0 {
			writeProblem(w, c, f.Relay.Refuse(r.Context(), c, failure))
			return
		}
		reply = append(reply, `,"`+string(list)+`":`...)
		reply = appendItems(reply, items, func(s relay.Shown) json.RawMessage { return s.Raw })
	}
	writeBytes(w, http.StatusOK, "application/json", append(reply, '}'))
}

// appendItems appends the descriptors of a list as a JSON array.
func appendItems[T any](dst []byte, items []T, raw func(T) json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw(item)...)
	}
	return append(dst, ']')
}

// serverStatus is what a caller is told of one server.
type serverStatus struct {
	Name         string                `json:"name"`
	Description  string                `json:"description,omitempty"`
	Status       string                `json:"status"` // ok, failed or unread
	Failure      *failure              `json:"failure,omitempty"`
	ListFailures map[call.List]failure `json:"list_failures,omitempty"`
	Tools        int                   `json:"tools"`
	Resources    int                   `json:"resources"`
	Templates    int                   `json:"resource_templates"`
	Prompts      int                   `json:"prompts"`
	Acquired     time.Time             `json:"acquired,omitzero"`
	LeftOut      []relay.LeftOut       `json:"left_out,omitempty"`
}

// failure is why something could not be read, in the words that agents see.
type failure struct {
	Stage    call.Stage  `json:"stage"`
	Reason   call.Reason `json:"reason"`
	Sentence string      `json:"sentence"`
}

func failed(refusal *call.Refusal) failure {
	row := refusal.Shown()
	return failure{Stage: row.Stage, Reason: row.Reason, Sentence: row.Sentence}
}

// serveServers is GET /v1/servers: the servers that the rules let the relay
// reach for this caller, and how each was when its lists were last read.
func (f *Front) serveServers(w http.ResponseWriter, r *http.Request) {
	c, ok := f.admitList(w, r, "")
	if !ok {
		return
	}
	views, refusal := f.Relay.Views(r.Context(), c)
	if refusal != nil {
		writeProblem(w, c, refusal)
		return
	}
	servers := make([]serverStatus, len(views))
	for i, view := range views {
		servers[i] = statusOf(view)
	}
	writeJSON(w, http.StatusOK, map[string]any{"call_id": c.ID, "servers": servers})
}

func statusOf(v relay.View) serverStatus {
	s := serverStatus{
		Name: v.Server, Description: v.Description, Status: "ok",
		Tools: len(v.Tools()), Resources: len(v.Resources()), Templates: len(v.Templates()), Prompts: len(v.Prompts()),
		Acquired: v.Catalog.Acquired.UTC(), LeftOut: leftOut(v),
	}
	if !v.Known() {
		s.Status = "unread"
	}
	if v.Failure != nil {
		f := failed(v.Failure)
		s.Status, s.Failure = "failed", &f
	}
	for list, refusal := range v.Failures {
		if s.ListFailures == nil {
			s.ListFailures = make(map[call.List]failure, len(v.Failures))
		}
		s.ListFailures[list] = failed(refusal)
	}
	return s
}

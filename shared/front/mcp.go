package front

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// exchange of one MCP request: what was read of it, and where to answer.
type request struct {
	wire.Request
	call   call.Call
	desk   desk
	modern bool
}

// serveMCP is POST /v1/servers/{server}/mcp and, for all servers with an empty
// name, POST /v1/mcp; both eras on one URL.
func (f *Front) serveMCP(w http.ResponseWriter, r *http.Request, server string) {
	q := request{call: f.newCall(r, call.FaceMCP), desk: desk{relay: f.Relay, server: bounded(server)}}
	q.call.Server = q.desk.server
	refusal := f.admit(w, r, &q.call, call.ScopeCall)
	if refusal == nil {
		refusal = readMCP(w, r, &q)
	}
	if refusal != nil {
		f.refuse(w, r, q, refusal)
		return
	}
	if q.Notification() {
		// JSON-RPC 2.0, 4.1: a notification is never answered.
		f.running.cancel(q)
		writeHead(w, http.StatusAccepted)
		return
	}
	f.dispatch(w, r, q)
}

// refuse ends a request before the pipeline.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, q request, refusal *call.Refusal) {
	refusal = f.Relay.Refuse(r.Context(), q.call, refusal)
	writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
}

// readMCP reads the body and settles the era: modern where _meta or the
// version header says so.
func readMCP(w http.ResponseWriter, r *http.Request, q *request) *call.Refusal {
	body, refusal := readBody(w, r)
	if refusal != nil {
		return refusal
	}
	q.Request, refusal = wire.ReadRequest(body)
	if refusal != nil {
		return refusal
	}
	if refusal := q.asked(r.Header); refusal != nil {
		return refusal
	}
	if q.Notification() && !strings.HasPrefix(q.Method, "notifications/") {
		return call.Refuse(call.BadRequest, "a request without an id")
	}
	header := r.Header.Get("MCP-Protocol-Version")
	if q.ProtocolVersion == "" && wire.IsModern(header) && !slices.Contains(wire.Versions(), header) {
		return unsupported(header)
	}
	if refusal := wire.CheckHeaders(r.Header, q.Request); refusal != nil {
		return refusal
	}
	q.modern = q.Modern() || wire.IsModern(header)
	if !q.modern {
		return checkLegacy(header, q.ProtocolVersion)
	}
	q.call.Modern, q.call.Capabilities = true, q.Capabilities
	q.call.InputResponses, q.call.RequestState = q.InputResponses, q.RequestState
	if q.HasState && q.RequestState == "" {
		return call.Refuse(call.StateRefused, "the state is empty")
	}
	return checkModern(q)
}

// asked notes what the request asks for, by the names that the agent uses.
func (q *request) asked(h http.Header) (refusal *call.Refusal) {
	q.call.Operation = call.Operation(bounded(q.Method))
	if !q.call.Operation.Asks() {
		return nil
	}
	q.call.Meta, q.call.Params = q.Meta, q.Params
	switch q.call.Operation {
	case call.OperationToolsCall:
		q.call.Tool, q.call.Arguments = bounded(q.Name), q.Arguments
		q.call.IdempotencyKey, refusal = idempotencyKey(h)
	case call.OperationPromptsGet:
		q.call.Prompt, q.call.Arguments = bounded(q.Name), q.Arguments
	case call.OperationResourcesRead:
		q.call.Resource = q.URI
	}
	return refusal
}

// checkModern asks of a modern request what MCP 2026-07-28 requires; its
// headers agree with its body already.
func checkModern(q *request) *call.Refusal {
	if q.Notification() {
		return nil
	}
	if version := q.ProtocolVersion; !wire.IsModern(version) || !slices.Contains(wire.Versions(), version) {
		return unsupported(version)
	}
	if !q.HasCapabilities {
		return call.Refuse(call.BadParams, "_meta lacks clientCapabilities")
	}
	return nil
}

// checkLegacy knows the versions of 2025-11-25 and older: a client without the
// header speaks 2025-03-26 (2025-06-18, basic/transports).
func checkLegacy(versions ...string) *call.Refusal {
	for _, version := range versions {
		if version != "" && !wire.IsLegacy(version) {
			return unsupported(version)
		}
	}
	return nil
}

func unsupported(version string) *call.Refusal {
	refusal := call.Refuse(call.UnsupportedVersion, "%.32q", version)
	refusal.Data = map[string]json.RawMessage{
		"supported": quoted(wire.Versions()),
		"requested": quoted(version),
	}
	return refusal
}

func quoted(value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}

// dispatch answers one request. Methods that only one era has do not exist in
// the other.
func (f *Front) dispatch(w http.ResponseWriter, r *http.Request, q request) {
	switch list, lists := wire.ListedBy(q.Method); {
	case q.call.Operation.Asks():
		f.ask(w, r, q)
	case lists:
		f.list(w, r, q, list)
	case q.Method == "server/discover" && q.modern:
		f.discover(w, r, q)
	case q.Method == "initialize" && !q.modern:
		f.initialize(w, r, q)
	case q.Method == "ping" && !q.modern:
		f.result(w, q, json.RawMessage(`{}`))
	case call.Operation(q.Method) == call.OperationSetLevel && !q.modern:
		f.setLevel(w, r, q)
	default:
		f.unknownMethod(w, r, q)
	}
}

// unknownMethod is 404 with -32601 for a modern request, 200 for a legacy one.
func (f *Front) unknownMethod(w http.ResponseWriter, r *http.Request, q request) {
	refusal := f.Relay.Refuse(r.Context(), q.call, call.Refuse(call.MethodNotFound, "%.64q", q.Method))
	status := http.StatusNotFound
	if !q.modern {
		status = http.StatusOK
	}
	writeRPCRefusal(w, q.call, q.ID, status, refusal)
}

// envelopeSize is what a reply has around its id and its result, in bytes.
const envelopeSize = 64

func (f *Front) result(w http.ResponseWriter, q request, result json.RawMessage) {
	head := wire.AppendResultHead(make([]byte, 0, len(q.ID.Raw())+envelopeSize), q.ID)
	writeParts(w, http.StatusOK, "application/json", head, [][]byte{result}, []byte(wire.ResultTail))
}

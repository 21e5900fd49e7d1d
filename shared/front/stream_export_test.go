package front

import (
	"context"
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Reply is a reply, for tests.
type Reply struct{ p *reply }

// NewReply opens one.
func NewReply(w http.ResponseWriter, r *http.Request) (Reply, context.Context) {
	p, ctx := newReply(w, r)
	return Reply{p}, ctx
}

// Notify is notify.
func (r Reply) Notify(method string, params json.RawMessage) { r.p.notify(method, params) }

// Answer is answer.
func (r Reply) Answer(status int, parts ...[]byte) { r.p.answer(status, parts...) }

// Refuse is refuse.
func (r Reply) Refuse(c call.Call, id wire.ID, status int, refusal *call.Refusal) {
	r.p.refuse(c, id, status, refusal)
}

// Close is close.
func (r Reply) Close() { r.p.close() }

// TakesEvents is takesEvents.
func TakesEvents(accept []string) bool { return takesEvents(accept) }

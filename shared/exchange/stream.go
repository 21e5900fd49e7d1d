package exchange

import (
	"fmt"
	"io"

	"mcprelay/shared/wire"
)

// maxEvents bounds the events of one stream (SECURITY 5.3, row 32).
const maxEvents = 10_000

// readStream reads events up to the response to m. What else a server sends is
// counted: its requests are never answered, its notifications are dropped but
// for those about the agent's request, responses to others are ignored.
func readStream(body io.Reader, r *Request, m *message, a *answer) error {
	events := wire.NewEventReader(body, wire.EventLimits{Bytes: r.Limits.ResultBytes, Events: maxEvents})
	for {
		event, err := events.Next()
		if err == io.EOF {
			return errEndedEarly
		}
		if err != nil {
			return err
		}
		if int64(len(event.Data)) > r.Limits.FrameBytes {
			return errEventTooLarge
		}
		if len(event.Data) == 0 || event.Type != "" && event.Type != "message" {
			continue
		}
		reply, err := wire.ReadReply(event.Data)
		switch {
		case err != nil && event.Partial:
			return errEndedEarly // a message that was cut cannot be read
		case err != nil:
			return err
		case a.take(reply, m):
			return nil
		case reply.Method != "":
			count(&reply, r, m)
		}
	}
}

// count takes note of what is no response.
func count(reply *wire.Reply, r *Request, m *message) {
	if !reply.ID.IsZero() {
		r.facts.ServerRequests++
		return
	}
	r.facts.Notifications++
	if r.Notify == nil || m.ask.Operation == "" {
		return
	}
	if params, ok := reply.Concerns(m.meta); ok {
		r.Notify(reply.Method, params)
	}
}

// foreign is the error of a JSON reply that answers something else.
func foreign(reply wire.Reply) error {
	if reply.Method != "" {
		return fmt.Errorf("%w: a message of the server's own instead of the response", wire.ErrProtocol)
	}
	return fmt.Errorf("%w: the response has another id", wire.ErrProtocol)
}

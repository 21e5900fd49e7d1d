// Package invariant says what must hold after any run of the relay, whatever
// went wrong in it.
//
// It promises that one function, [Run.Violations], judges what was seen from
// outside: what agents got, what servers saw, what the trail and the log hold.
// It refuses to look inside the relay, and to know a secret's spellings from
// the code that masks them: it has its own.
//
// The invariants are:
//
//   - I1: every call of a known caller has exactly one final, and whatever was
//     asked of a server stands behind an intent of the same call that was kept
//     before.
//   - I2: a server sees one POST of a request; a second one only where the
//     record says that the session was lost or the secret renewed.
//   - I3: no form of a credential, no token of an agent and no session id is in
//     a reply, a record or on the log, and no token of an agent reaches a server.
//   - I4: a result is the server's complete message under the agent's own id,
//     never a part.
//   - I5: nobody connected where nobody may.
package invariant

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcprelay/shared/audit"
)

// Run is what was seen of a number of calls of tools, all of which have ended.
type Run struct {
	Calls   []Call
	Intents []Intent       // in the order they were kept
	Finals  []audit.Record // in any order
	Posts   int            // tools/call that servers saw
	// Texts are what left the relay besides the replies, by where it was: the
	// log, records.
	Texts map[string]string
	// Sent are the requests that servers saw, heads and bodies.
	Sent     []string
	Secrets  []string       // credentials, none shorter than [MinSecret]
	Tokens   []string       // of agents
	Sessions []string       // ids that servers assigned
	Canaries map[string]int // connections, by where
}

// Call is one call as its agent saw it.
type Call struct {
	ID     string // of JSON-RPC, JSON text; empty on the plain face
	Header string // of the reply, any form, and what came on its stream before the message
	Body   string
	// Whole is the result or the error object that the server sent, to the
	// byte, or masked where it held a secret. Empty: the server sent none, so
	// the agent must get none.
	Whole string
}

// Intent is a call that was recorded before it was made.
type Intent struct {
	CallID string
	Posts  int // tools/call that servers had seen when the intent was kept
}

// Violations lists what does not hold, each beginning with the invariant's
// name; nil where all hold.
func (r Run) Violations() []string {
	var v violations
	r.recorded(&v)
	r.once(&v)
	r.secret(&v)
	r.whole(&v)
	for _, where := range sorted(r.Canaries) {
		if n := r.Canaries[where]; n != 0 {
			v.add("I5: %s saw %d connections", where, n)
		}
	}
	return v
}

type violations []string

func (v *violations) add(format string, args ...any) { *v = append(*v, fmt.Sprintf(format, args...)) }

// recorded is I1.
func (r Run) recorded(v *violations) {
	posts, finals := map[string]int{}, map[string]int{}
	for _, final := range r.Finals {
		if finals[final.CallID]++; final.State != audit.StateFinal {
			v.add("I1: call %s ended in state %q", final.CallID, final.State)
		}
		posts[final.CallID] = final.Posts
	}
	for _, id := range sorted(finals) {
		if finals[id] != 1 {
			v.add("I1: call %s has %d finals", id, finals[id])
		}
	}
	if len(finals) != len(r.Calls) {
		v.add("I1: %d calls left %d finals", len(r.Calls), len(finals))
	}
	intents, accounted := map[string]bool{}, 0
	for _, intent := range r.Intents {
		if finals[intent.CallID] == 0 {
			v.add("I1: call %s has an intent and no final", intent.CallID)
		}
		if intents[intent.CallID] {
			v.add("I1: call %s has two intents", intent.CallID)
		}
		if intent.Posts > accounted {
			v.add("I1: %d POSTs came before the intent of %s, the calls before it account for %d", intent.Posts, intent.CallID, accounted)
		}
		intents[intent.CallID] = true
		accounted += posts[intent.CallID]
	}
	for _, id := range sorted(posts) {
		if posts[id] > 0 && !intents[id] {
			v.add("I1: call %s was made without an intent", id)
		}
	}
}

// once is I2.
func (r Run) once(v *violations) {
	total := 0
	for _, final := range r.Finals {
		total += final.Posts
		allowed := 1
		if final.SessionLost {
			allowed++
		}
		if final.SecretRenewed {
			allowed++
		}
		if final.Posts > allowed {
			v.add("I2: %d POSTs of call %s, %d allowed", final.Posts, final.CallID, allowed)
		}
	}
	if total != r.Posts {
		v.add("I2: servers saw %d POSTs, the records count %d", r.Posts, total)
	}
}

// whole is I4.
func (r Run) whole(v *violations) {
	for i, c := range r.Calls {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(c.Body), &message); err != nil {
			v.add("I4: reply %d is no JSON: %v", i, err)
			continue
		}
		unread := c.Whole == "" && string(message.ID) == "null" // refused before the message was read
		if c.ID != "" && string(message.ID) != c.ID && !unread {
			v.add("I4: reply %d has the id %s, want %s", i, message.ID, c.ID)
		}
		got := string(message.Result)
		if c.Whole != "" && got == "" {
			got = string(message.Error)
		}
		if got != c.Whole {
			v.add("I4: reply %d holds\n%s\nthe server sent\n%s", i, begin(got), begin(c.Whole))
		}
	}
}

// maxShown bounds what a violation shows of a text.
const maxShown = 500

func begin(text string) string { return text[:min(len(text), maxShown)] }

// secret is I3.
func (r Run) secret(v *violations) {
	texts := map[string]string{}
	for where, text := range r.Texts {
		texts[where] = text
	}
	for i, c := range r.Calls {
		texts[fmt.Sprintf("reply %d", i)] = c.Header + "\n" + c.Body
	}
	for _, where := range sorted(texts) {
		for i, secret := range r.Secrets {
			for name, form := range Forms(secret) {
				if strings.Contains(texts[where], form) {
					v.add("I3: %s holds secret %d, %s", where, i, name)
				}
			}
		}
		for i, token := range r.Tokens {
			if strings.Contains(texts[where], token) {
				v.add("I3: %s holds token %d", where, i)
			}
		}
		for i, id := range r.Sessions {
			if strings.Contains(texts[where], id) {
				v.add("I3: %s holds session id %d", where, i)
			}
		}
	}
	for i, request := range r.Sent {
		for j, token := range r.Tokens {
			if strings.Contains(request, token) {
				v.add("I3: request %d to a server holds token %d", i, j)
			}
		}
	}
}

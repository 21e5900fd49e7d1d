package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"mcprelay/shared/audit"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// sayable is what may be said of what the policies say. A message may quote the
// arguments: it is kept where they may be kept, masked, and is the name of its
// policy with a digest otherwise.
func sayable(o policy.Outcome, p plan, t trail) policy.Outcome {
	say := func(_, message string) string { return t.masker.Text(message) }
	if argumentsMode(p, t) != registry.ArgumentsPreview {
		say = digested
	}
	o.Deny, o.Audited = each(o.Deny, o.DenyBy, say), each(o.Audited, o.AuditedBy, say)
	return o
}

func each(messages, by []string, say func(name, message string) string) []string {
	said := make([]string, len(messages))
	for i, message := range messages {
		said[i] = say(by[i], message)
	}
	return said
}

// messageDigest is of a message, in hex digits: enough to tell the messages of a
// policy apart, and to find one that is guessed.
const messageDigest = 12

func digested(name, message string) string {
	sum := sha256.Sum256([]byte(message))
	return name + " " + hex.EncodeToString(sum[:])[:messageDigest]
}

// restate records what the policies say once more, now that the credential is
// known and can be masked. A call that they denied never comes to know it.
func restate(record *audit.Record, p plan, t trail) {
	if len(t.values) == 0 || len(t.outcome.Deny)+len(t.outcome.Audited) == 0 {
		return
	}
	said := sayable(t.outcome, p, t)
	record.Reasons = slices.Clone(p.decision.Reasons)
	record.Note(said.Verdict, said.Deny, said.Audited)
}

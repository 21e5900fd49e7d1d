package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of document.
const (
	KindServer = "server" // Name is the server's; Body as an element of the file's servers
	KindRules  = "rules"  // Body as the file's rules
	KindTenant = "tenant" // Body holds the file's settings, at least {}
	KindAgent  = "agent"  // Name is the subject; Body as an element of the file's agents
	KindPolicy = "policy" // Name is the policy's; Body as an element of the file's policies, its source within
	KindBudget = "budget" // Name is the class; Body as a value of the file's budgets
	KindIssuer = "issuer" // Name is the issuer; Body as an element of the file's issuers
)

// Named reports whether kind is one of the kinds of document, and whether its
// documents have names.
func Named(kind string) (named, known bool) {
	switch kind {
	case KindServer, KindAgent, KindPolicy, KindBudget, KindIssuer:
		return true, true
	case KindRules, KindTenant:
		return false, true
	}
	return false, false
}

// Document is what stores keep: a part of a tenant's registration, in the
// shape it has in the config file, and its revision. Writes are conditional
// on Rev; 0 means that the document does not exist yet.
type Document struct {
	Kind string
	Name string // empty for rules and for the tenant
	Body json.RawMessage
	Rev  int64
}

// ErrConflict is the error of a write whose document has another revision.
var ErrConflict = errors.New("the document was changed by somebody else")

// maxKeyed bounds the name of a document, in bytes. A sort key of DynamoDB has
// 1024, the kind included.
const maxKeyed = 960

// Check says why a store could not give d back as it is.
func (d Document) Check() error {
	switch named, known := Named(d.Kind); {
	case !known:
		return errors.New("there is no such kind")
	case named != (d.Name != ""):
		return errors.New("a server, an agent, a policy, a budget and an issuer have a name, nothing else does")
	case len(d.Name) > maxKeyed:
		return errors.New("its name is too long")
	case !utf8.ValidString(d.Name) || strings.ContainsFunc(d.Name, unicode.IsControl):
		return errors.New("its name is not printable")
	case !json.Valid(d.Body) || !utf8.Valid(d.Body):
		return errors.New("its body is not JSON")
	}
	return nil
}

package policy

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkModule refuses a policy that could never deny, which whoever wrote it
// did not mean: one of another package, one without deny, or one whose deny is
// no set of messages.
func checkModule(m *ast.Module) error {
	if name := m.Package.Path.String(); name != "data.mcprelay.policy" && name != "data.chalk.policy" {
		return ast.NewError(ast.CompileErr, m.Package.Location, "the package is not mcprelay.policy or chalk.policy, so that nothing would ask it")
	}
	found := false
	for _, rule := range m.Rules {
		if head := rule.Head.Ref(); head[0].Value.Compare(ast.Var("deny")) != 0 {
			continue
		}
		if !setOfMessages(rule) {
			return ast.NewError(ast.CompileErr, rule.Location, "deny is not a set of messages: write deny contains message if { ... }")
		}
		found = true
	}
	if !found {
		return ast.NewError(ast.CompileErr, m.Package.Location, "there is no rule named deny, so that nothing would be denied")
	}
	return nil
}

// setOfMessages reports whether a rule of deny can be a set of messages, as far
// as one sees before it is evaluated.
func setOfMessages(rule *ast.Rule) bool {
	head := rule.Head
	switch {
	case len(head.Args) > 0, len(head.Ref()) > 1:
		return false
	case head.Value == nil:
		return true
	}
	switch head.Value.Value.(type) {
	case ast.Boolean, ast.Null, ast.Number, ast.String, *ast.Array, ast.Object, *ast.ArrayComprehension, *ast.ObjectComprehension:
		return false
	}
	return true
}

// encoded finds the URIs that a gateway to several servers gives resources: of
// its own scheme, with the server's URI inside.
var encoded = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*://resources?/|://[^ ]*%3a(%2f|/){2}`)

// doubtful says what in a policy is likely to be a mistake.
func doubtful(m *ast.Module) []string {
	var found []string
	ast.WalkTerms(m, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.String:
			if encoded.MatchString(string(v)) {
				found = add(found, "it matches a resource URI as a gateway encodes it, which is not what the server is asked for: compare input.gateway.upstream_uri with the server's own URI")
			}
		case ast.Ref:
			if text := v.String(); v[0].Equal(ast.DefaultRootDocument) && !under(m.Package.Path, v) {
				found = add(found, "it uses "+cut(text)+", which is not there: a policy has the input and its own rules, no data and no other policy")
			}
		}
		return false
	})
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if e.Negated && e.IsCall() && !equates(e) && takesParams(e) {
			found = add(found, "not with a function of the agent's params says nothing where the member is absent, so that the call is not denied: put it into a rule of its own, and negate that")
		}
		return false
	})
	return found
}

// equates reports whether e is a = b or a == b, which fail for what is absent.
func equates(e *ast.Expr) bool {
	return e.IsEquality() || e.Operator().Equal(ast.Equal.Ref())
}

// takesParams reports whether a function is given what an agent may leave out.
func takesParams(e *ast.Expr) bool {
	found := false
	for _, operand := range e.Operands() {
		ast.WalkRefs(operand, func(r ast.Ref) bool {
			text := r.String()
			found = found || strings.HasPrefix(text, "input.request.params") || strings.HasPrefix(text, "input.relay.metadata")
			return false
		})
	}
	return found
}

func add(texts []string, text string) []string {
	for _, have := range texts {
		if have == text {
			return texts
		}
	}
	return append(texts, text)
}

// under reports whether ref begins with path, or ends on the way to it.
func under(path, ref ast.Ref) bool {
	return ref.HasPrefix(path) || strings.HasPrefix(path.String()+".", ref.String()+".")
}

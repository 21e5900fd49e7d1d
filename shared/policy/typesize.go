package policy

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// types knows of each rule, and of each variable of a rule, what it stands for.
type types struct {
	stands map[string][]standing
	sizes  map[string]int
}

// standing is a term in one rule of a module, by whose variables it is read.
type standing struct {
	term  *ast.Term
	scope int
}

func typesOf(m *ast.Module) types {
	t := types{stands: make(map[string][]standing), sizes: make(map[string]int)}
	for i, rule := range m.Rules {
		ast.WalkRules(rule, func(r *ast.Rule) bool {
			t.add(ruleName(rule), r.Head.Key, i)
			t.add(ruleName(rule), r.Head.Value, i)
			return false
		})
		ast.WalkExprs(rule, func(e *ast.Expr) bool {
			if e.IsAssignment() || e.IsEquality() {
				t.equal(e.Operand(0), e.Operand(1), i)
			}
			if e.IsEquality() {
				t.equal(e.Operand(1), e.Operand(0), i)
			}
			return false
		})
	}
	return t
}

func ruleName(r *ast.Rule) string { return variable(r.Head.Ref()[0]) }

// variable is the name of t where it is a variable, else empty.
func variable(t *ast.Term) string {
	v, _ := t.Value.(ast.Var)
	return string(v)
}

// scoped is the key of a variable of one rule. No name of Rego has a "@".
func scoped(name string, scope int) string { return name + "@" + strconv.Itoa(scope) }

func (t types) add(key string, term *ast.Term, scope int) {
	if term != nil {
		t.stands[key] = append(t.stands[key], standing{term, scope})
	}
}

func (t types) equal(a, b *ast.Term, scope int) {
	if name := variable(a); name != "" {
		t.add(scoped(name, scope), b, scope)
	}
}

// excess is the first rule in which a name's type reaches maxType, or -1.
func (t types) excess() int {
	first := -1
	for key, stands := range t.stands {
		if i := stands[0].scope; (first < 0 || i < first) && t.size(key) >= maxType {
			first = i
		}
	}
	return first
}

// size is how large the type of a name is at most, and maxType for more. What
// refers to itself, which Rego refuses, counts once.
func (t types) size(key string) int {
	if size, known := t.sizes[key]; known {
		return size
	}
	t.sizes[key] = 0
	size := 1
	for _, s := range t.stands[key] {
		size = min(maxType, size+t.of(s.term, s.scope))
	}
	t.sizes[key] = size
	return size
}

// of is size for a term.
func (t types) of(term *ast.Term, scope int) int {
	size := 1
	each := func(part *ast.Term) { size = min(maxType, size+t.of(part, scope)) }
	switch v := term.Value.(type) {
	case ast.Var:
		return t.named(string(v), scope)
	case ast.Ref:
		return t.named(variable(v[0]), scope)
	case ast.Call:
		// What a function gives does not grow with what it is given.
		return t.of(v[0], scope)
	case *ast.Array:
		v.Foreach(each)
	case ast.Set:
		v.Foreach(each)
	case ast.Object:
		v.Foreach(func(_, value *ast.Term) { each(value) })
	case *ast.ArrayComprehension:
		each(v.Term)
	case *ast.SetComprehension:
		each(v.Term)
	case *ast.ObjectComprehension:
		each(v.Value)
	}
	return size
}

// named is the size of a variable of the rule, and of the rule of that name.
func (t types) named(name string, scope int) int {
	return min(maxType, t.size(scoped(name, scope))+t.size(name)-1)
}

package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpressions bounds the expressions of a template: those of real servers
// have a handful, and each is looked for in every URI that may be its.
const maxExpressions = 8

// What is wrong with a template. The texts quote nothing of it.
var (
	errBraces      = errors.New("its braces do not match")
	errExpression  = errors.New("it holds an expression that is none of RFC 6570")
	errExpressions = fmt.Errorf("it holds more than %d expressions", maxExpressions)
)

// TemplateURI is the URI template (RFC 6570) under which the template of a
// server is offered beside those of others: that of [ResourceURI], with the
// expressions as they are. The error is of a template that no client can
// expand: of braces that do not match, or of an expression with other
// characters than those of names and of the eight defined operators. Hyphens
// in names are let pass: servers and clients have them, against the RFC.
func TemplateURI(server, template string) (string, error) {
	pieces, err := split(template)
	if err != nil {
		return "", err
	}
	shown := []byte(resourcePrefix + server + "/")
	for _, p := range pieces {
		shown = append(appendEncoded(shown, p.literal), p.expression...)
	}
	return string(shown), nil
}

// SplitTemplate is the exact inverse of [TemplateURI], and refuses whatever
// that would not write.
func SplitTemplate(shown string) (server, template string, ok bool) {
	server, rest, ok := cutResource(shown)
	if !ok {
		return "", "", false
	}
	pieces, err := split(rest)
	if err != nil {
		return "", "", false
	}
	var own strings.Builder
	for _, p := range pieces {
		literal, ok := decoded(p.literal)
		if !ok || strings.ContainsAny(literal, "{}") {
			return "", "", false
		}
		own.WriteString(literal)
		own.WriteString(p.expression)
	}
	return server, own.String(), true
}

// piece is a part of a template: a literal and the expression after it, with
// its braces. Either may be empty; the last piece has no expression.
type piece struct{ literal, expression string }

// split gives the pieces of a template, at least one.
func split(template string) ([]piece, error) {
	var pieces []piece
	for {
		at := strings.IndexAny(template, "{}")
		if at < 0 {
			return append(pieces, piece{literal: template}), nil
		}
		end := strings.IndexByte(template[at:], '}') + 1
		if template[at] == '}' || end == 0 {
			return nil, errBraces
		}
		p := piece{literal: template[:at], expression: template[at : at+end]}
		if !p.expands() {
			return nil, errExpression
		}
		if pieces = append(pieces, p); len(pieces) > maxExpressions {
			return nil, errExpressions
		}
		template = template[at+end:]
	}
}

// operators are those of RFC 6570 section 2.2 that have a meaning.
const operators = "+#./;?&"

// operator is that of the expression, 0 for none.
func (p piece) operator() byte {
	if strings.IndexByte(operators, p.expression[1]) >= 0 {
		return p.expression[1]
	}
	return 0
}

// expands reports whether the expression has a meaning.
func (p piece) expands() bool {
	names := p.expression[1 : len(p.expression)-1]
	if p.operator() != 0 {
		names = names[1:]
	}
	for i := range len(names) {
		if c := names[i]; c == '~' || !unreserved(c) && strings.IndexByte("%,:*", c) < 0 {
			return false
		}
	}
	return names != "" && names[0] != ',' // an operator that is reserved
}

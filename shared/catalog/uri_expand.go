package catalog

import "strings"

// Expanded maps an expansion that a client made of [TemplateURI] to the same
// expansion of the server's own template: what stands for the expressions
// stays as it is, what stands for the rest is decoded. It is false where shown
// is no expansion of the template, whatever its values.
//
// A value that holds, encoded, the very text that follows its expression can
// be read in two ways, because the same text of the template is encoded like
// it: "{a}/{b}" with a/b and c, or with a and b/c. The earlier expressions then
// get as little as they can, since paths stand at the end.
func Expanded(shown, template string) (uri string, ok bool) {
	_, rest, ok := cutResource(shown)
	if !ok {
		return "", false
	}
	pieces, err := split(template)
	if err != nil {
		return "", false
	}
	e, ok := expand(rest, pieces, func(literal string) string { return string(appendEncoded(nil, literal)) })
	if !ok {
		return "", false
	}
	var own strings.Builder
	at := 0
	for i, p := range pieces {
		own.WriteString(p.literal)
		at += len(e.literals[i])
		if i == len(pieces)-1 {
			break
		}
		end := e.value(i, at)
		own.WriteString(rest[at:end])
		at = end
	}
	return own.String(), true
}

// Expands reports whether a server's own URI is an expansion of its own
// template. Of a shown URI that [SplitResource] and [Expanded] both know, and
// differently, it tells a link of the server from an expansion of an agent:
// only the link's URI, decoded, is still what the template expands to.
func Expands(uri, template string) bool {
	pieces, err := split(template)
	if err != nil {
		return false
	}
	_, ok := expand(uri, pieces, func(literal string) string { return literal })
	return ok
}

// expansion finds the pieces of a template in a text. It goes backwards first,
// so that the way forward never has to be taken twice.
type expansion struct {
	text     string
	pieces   []piece
	literals []string // as they are in the text
	begins   [][]bool // for each piece: it and all after it can begin here
}

// expand finds the pieces of a template in a text, where its literals are as
// spelled writes them; ok is false where the text is no expansion.
func expand(text string, pieces []piece, spelled func(literal string) string) (e *expansion, ok bool) {
	if !strings.HasPrefix(text, spelled(pieces[0].literal)) {
		return nil, false // of most templates of most servers at once
	}
	e = &expansion{text: text, pieces: pieces, literals: make([]string, len(pieces)), begins: make([][]bool, len(pieces))}
	for i, p := range pieces {
		e.literals[i] = spelled(p.literal)
		e.begins[i] = make([]bool, len(text)+1)
	}
	last := len(pieces) - 1
	if strings.HasSuffix(text, e.literals[last]) {
		e.begins[last][len(text)-len(e.literals[last])] = true
	}
	for i := last - 1; i >= 0; i-- {
		e.find(i)
	}
	return e, e.begins[0][0]
}

// find finds where piece i can begin, given where the next one can.
func (e *expansion) find(i int) {
	next, operator := e.begins[i+1], e.pieces[i].operator()
	ends := make([]bool, len(e.text)+1) // a value that goes on here can end
	for at := len(e.text); at >= 0; at-- {
		n := step(e.text[at:], operator)
		ends[at] = next[at] || n > 0 && ends[at+n]
	}
	literal := e.literals[i]
	for at := 0; at+len(literal) <= len(e.text); at++ {
		if !strings.HasPrefix(e.text[at:], literal) {
			continue
		}
		from := at + len(literal)
		n := first(e.text[from:], operator)
		e.begins[i][at] = next[from] || n >= 0 && ends[from+n]
	}
}

// value is the end of the shortest value of piece i that begins at text[at].
func (e *expansion) value(i, at int) int {
	next, operator := e.begins[i+1], e.pieces[i].operator()
	if next[at] {
		return at
	}
	for at += first(e.text[at:], operator); !next[at]; {
		at += step(e.text[at:], operator)
	}
	return at
}

// first is the length of what an operator puts before its values, -1 where it
// is not there (RFC 6570 section 3.2.1 and appendix A).
func first(text string, operator byte) int {
	switch {
	case operator == 0, operator == '+':
		return 0
	case text != "" && text[0] == operator:
		return 1
	}
	return -1
}

// step is the length of the first character of values, 0 where it cannot be
// one. Besides what RFC 6570 section 3.2 gives the operators, these are the
// marks that the encoding of JavaScript leaves alone.
func step(text string, operator byte) int {
	switch {
	case text == "":
		return 0
	case text[0] == '%':
		if len(text) < 3 || !hexDigit(text[1]) || !hexDigit(text[2]) {
			return 0
		}
		return 3
	case unreserved(text[0]), strings.IndexByte("!*'(),=", text[0]) >= 0, strings.IndexByte(separators(operator), text[0]) >= 0:
		return 1
	}
	return 0
}

// separators are the reserved characters in the values of an operator.
func separators(operator byte) string {
	switch operator {
	case '+', '#':
		return ":/?#[]@$&+;"
	case '/', ';':
		return string(operator)
	case '?', '&':
		return "&"
	}
	return ""
}

func hexDigit(c byte) bool {
	return upperHex(c) < 16 || c >= 'a' && c <= 'f'
}

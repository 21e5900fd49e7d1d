package wire

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Where says which strings of a result are URIs of resources (2025-11-25 and
// 2026-07-28, schema).
type Where uint8

// The places of URIs. The zero Where is no place.
const (
	_               Where = iota
	WhereResult           // of tools/call: the links and the embedded resources of content
	WherePrompt           // of prompts/get: the same, of the content of messages
	WhereResource         // of resources/read: the uri of each of contents
	WhereDescriptor       // a descriptor of a list: its own uri
	WhereTool             // a descriptor of a tool: the page that shows its results (MCP Apps 2026-01-26, in _meta)
)

// RewriteURIs gives result with the URIs at those places replaced by what to
// makes of them, so that an agent can ask for them where it is told of them.
// All other bytes stay as they are, an URI that to does not change too; where
// none changes, it is result itself. What is of another shape than the
// protocol's is left alone, and so is a text, or anything else that is no
// link. The error is of a text that this package has not read: it comes with
// result as it was.
func RewriteURIs(result json.RawMessage, where Where, to func(uri string) string) (json.RawMessage, error) {
	w := rewriter{text: result, to: to}
	start := blanks(result, 0)
	end := endOfValue(result, start)
	switch where {
	case WhereResult:
		end = w.within(start, "content", func(i int) int { return w.array(i, w.item) })
	case WherePrompt:
		end = w.within(start, "messages", func(i int) int { return w.array(i, w.message) })
	case WhereResource:
		end = w.within(start, "contents", func(i int) int { return w.array(i, w.holder) })
	case WhereDescriptor:
		end = w.holder(start)
	case WhereTool:
		end = w.within(start, "_meta", w.page)
	}
	switch {
	case end < 0:
		return result, errNotValue
	case w.out == nil:
		return result, nil
	}
	return append(w.out, result[w.written:]...), nil
}

// rewriter goes once through a text and copies what is before each change. Its
// functions take the index of a value and give the one after it, or -1 where
// the text is broken.
type rewriter struct {
	text    []byte
	to      func(string) string
	out     []byte
	written int // how much of text is in out
}

// message reads a message, whose content is one item or several.
func (w *rewriter) message(i int) int {
	return w.within(i, "content", func(i int) int {
		if w.text[i] == '[' {
			return w.array(i, w.item)
		}
		return w.item(i)
	})
}

// item reads one item of content. Where its URI is depends on its type, which
// may come last.
func (w *rewriter) item(i int) int {
	kind, link, embedded := "", -1, -1
	end := w.object(i, func(name []byte, i int) int {
		switch string(name) {
		case "type":
			kind, _ = w.str(i)
		case "uri":
			link = i
		case "resource":
			return w.object(i, func(name []byte, i int) int {
				if string(name) == "uri" {
					embedded = i
				}
				return endOfValue(w.text, i)
			})
		}
		return endOfValue(w.text, i)
	})
	switch {
	case end < 0:
	case kind == "resource_link" && link >= 0:
		w.change(link)
	case kind == "resource" && embedded >= 0:
		w.change(embedded)
	}
	return end
}

// holder reads an object that has a URI itself.
func (w *rewriter) holder(i int) int { return w.within(i, "uri", w.uri) }

// page reads the _meta of a tool: ui.resourceUri, and the older key for it.
func (w *rewriter) page(i int) int {
	return w.object(i, func(name []byte, i int) int {
		switch string(name) {
		case "ui":
			return w.within(i, "resourceUri", w.uri)
		case "ui/resourceUri":
			return w.uri(i)
		}
		return endOfValue(w.text, i)
	})
}

// uri replaces the value at text[i].
func (w *rewriter) uri(i int) int {
	w.change(i)
	return endOfValue(w.text, i)
}

// change replaces the string at text[i].
func (w *rewriter) change(i int) {
	uri, ok := w.str(i)
	if !ok {
		return
	}
	shown := w.to(uri)
	if shown == uri {
		return
	}
	if w.out == nil {
		w.out = make([]byte, 0, len(w.text)+len(w.text)/8)
	}
	w.out = AppendString(append(w.out, w.text[w.written:i]...), shown)
	w.written = endOfString(w.text, i)
}

// str is the content of the string at text[i]; false of anything else, and of
// lone surrogates, which no URI can be made of.
func (w *rewriter) str(i int) (string, bool) {
	if w.text[i] != '"' {
		return "", false
	}
	content, err := jsontext.AppendUnquote(nil, w.text[i:endOfString(w.text, i)])
	return string(content), err == nil
}

// within reads an object, and one of its members with visit.
func (w *rewriter) within(i int, member string, visit func(i int) int) int {
	return w.object(i, func(name []byte, i int) int {
		if string(name) == member {
			return visit(i)
		}
		return endOfValue(w.text, i)
	})
}

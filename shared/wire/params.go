package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Param is an argument of a tool that the tool's description wants repeated in
// a header (MCP 2026-07-28, basic/transports/streamable-http, x-mcp-header).
type Param struct {
	Header string   // what follows "Mcp-Param-", a token
	Path   []string // the names that lead to the argument, outermost first
	Type   string   // string, integer or boolean
}

// The bounds of a tool's annotations: servers commonly take 100 header lines
// and 8 KiB of head, and those in the field are named after an argument.
const (
	maxParams      = 64
	maxParamHeader = 256 // bytes of a name
)

// annotation is the keyword that marks a parameter.
const annotation = "x-mcp-header"

// What makes a tool invalid. The texts are shown to operators.
var (
	errAnnotationName   = errors.New("an x-mcp-header is not the name of a header")
	errAnnotationTwice  = errors.New("two x-mcp-headers have the same name, whatever its case")
	errAnnotationType   = errors.New("an x-mcp-header is on a parameter that is no string, integer or boolean")
	errAnnotationPlace  = errors.New("an x-mcp-header is not reached through properties alone")
	errAnnotationNumber = fmt.Errorf("more than %d x-mcp-headers", maxParams)
	errSchema           = errors.New("the inputSchema is not strict JSON")
	errSchemaDepth      = fmt.Errorf("the inputSchema is nested deeper than %d", MaxDepth)
)

// Params reads the x-mcp-header annotations of a tool's inputSchema, in their
// order. The error is of an annotation that makes the tool invalid, so that a
// client must not offer it: a name that is no token or that another annotation
// has in any case, a type other than string, integer and boolean (or one of
// them and null), a place that is not reached through properties alone. It
// never quotes the schema. A schema that is no object has no annotations.
func Params(inputSchema json.RawMessage) ([]Param, error) {
	// Nearly every schema has none, and can be told by looking: a name could
	// only hide behind an escaped letter.
	if !bytes.Contains(inputSchema, []byte(annotation)) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil
	}
	var r schemaReader
	r.dec.Reset(bytes.NewReader(inputSchema), jsontext.AllowInvalidUTF8(true)) // lone surrogates are in descriptions of real tools
	if r.dec.PeekKind() != '{' {
		return nil, nil
	}
	if err := r.schema(place{reachable: true}); err != nil {
		return nil, explained(err)
	}
	return r.found, nil
}

// explained keeps the faults of this file: the decoder's quote the schema.
func explained(err error) error {
	for _, own := range []error{errAnnotationName, errAnnotationTwice, errAnnotationType, errAnnotationPlace, errAnnotationNumber, errSchemaDepth} {
		if errors.Is(err, own) {
			return own
		}
	}
	return errSchema
}

// schemaReader walks a schema.
type schemaReader struct {
	dec   jsontext.Decoder
	found []Param
}

// place is where in the schema the walk is.
type place struct {
	path      []string // properties from the root, where reachable
	reachable bool     // through properties alone
}

// members reads an object or an array, calling visit before each value, with
// its name where it has one.
func (r *schemaReader) members(visit func(name string) error) error {
	if r.dec.StackDepth() >= MaxDepth {
		return errSchemaDepth
	}
	begin, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	named := begin.Kind() == '{'
	for kind := r.dec.PeekKind(); kind != '}' && kind != ']'; kind = r.dec.PeekKind() {
		name := ""
		if named {
			token, err := r.dec.ReadToken()
			if err != nil {
				return err
			}
			name = token.String()
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err = r.dec.ReadToken()
	return err
}

// schema reads one schema that is an object.
func (r *schemaReader) schema(at place) error {
	var header, kind jsontext.Value
	err := r.members(func(name string) (err error) {
		switch name {
		case annotation:
			header, err = r.value()
			return err
		case "type":
			kind, err = r.value()
			return err
		}
		return r.keyword(name, at)
	})
	if err != nil || header == nil {
		return err
	}
	return r.annotated(header, kind, at)
}

// value reads a value that is no schema.
func (r *schemaReader) value() (jsontext.Value, error) {
	value, err := r.dec.ReadValue()
	return value.Clone(), err
}

// keyword reads the value of any other keyword. Those that hold values of the
// instance hold no schemas, and those that hold schemas by name may use any
// name, that of the annotation too. Schemas that nobody has defined yet are
// looked into all the same: an annotation in one would go unmirrored.
func (r *schemaReader) keyword(name string, at place) error {
	switch name {
	case "default", "const", "enum", "examples", "example":
		return r.dec.SkipValue()
	case "properties":
		return r.named(at)
	case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return r.named(place{})
	}
	return r.elsewhere()
}

// named reads an object whose members are schemas under names of their own.
func (r *schemaReader) named(at place) error {
	if r.dec.PeekKind() != '{' {
		return r.elsewhere()
	}
	return r.members(func(name string) error {
		if r.dec.PeekKind() != '{' {
			return r.elsewhere()
		}
		below := place{reachable: at.reachable}
		if at.reachable {
			below.path = append(slices.Clip(at.path), name)
		}
		return r.schema(below)
	})
}

// elsewhere reads a value in which no annotation may be.
func (r *schemaReader) elsewhere() error {
	switch r.dec.PeekKind() {
	case '{':
		return r.schema(place{})
	case '[':
		return r.members(func(string) error { return r.elsewhere() })
	}
	return r.dec.SkipValue()
}

// annotated keeps an annotation, as the raw values that were beside it.
func (r *schemaReader) annotated(header, kind []byte, at place) error {
	if !at.reachable || len(at.path) == 0 {
		return errAnnotationPlace
	}
	if header[0] != '"' {
		return errAnnotationName
	}
	p := Param{Header: string(unquote(header)), Path: at.path, Type: primitive(kind)}
	switch {
	case FieldName(p.Header) != nil || len(p.Header) > maxParamHeader:
		return errAnnotationName
	case p.Type == "":
		return errAnnotationType
	case len(r.found) == maxParams:
		return errAnnotationNumber
	case slices.ContainsFunc(r.found, func(other Param) bool { return strings.EqualFold(other.Header, p.Header) }):
		return errAnnotationTwice
	}
	r.found = append(r.found, p)
	return nil
}

// primitive is the type that a schema names, empty where it is none that a
// header can carry. A list of that type and null is that type: null has no
// header, and generators write optional parameters so.
func primitive(kind []byte) string {
	names := []string{}
	if len(kind) > 0 && kind[0] == '"' {
		names = append(names, string(unquote(kind)))
	} else if json.Unmarshal(kind, &names) != nil || len(names) > 2 {
		return ""
	}
	if len(names) == 2 {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "null" })
	}
	if len(names) != 1 {
		return ""
	}
	switch names[0] {
	case "string", "integer", "boolean":
		return names[0]
	}
	return ""
}

// Package openapi_test holds the served OpenAPI document to the rules of
// OpenAPI 3.1 and to what the handlers do: every documented path, status and
// media type is provoked, and none is given that is not documented.
package openapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const path = "../../shared/front/openapi.json"

// document is what these tests read of the OpenAPI document.
type document struct {
	OpenAPI string
	Info    struct{ Title, Version, Description string }
	Paths   map[string]map[string]operation // template -> lower-case method
	Tags    []struct{ Name string }

	Components struct {
		SecuritySchemes map[string]struct{ Type, Scheme, In, Name string }
		Parameters      map[string]parameter
		Headers         map[string]header
		Responses       map[string]response
		Schemas         map[string]json.RawMessage
	}
	Security []map[string][]string

	resolved map[string]*jsonschema.Resolved // by text: resolving one takes milliseconds
}

type operation struct {
	OperationID string
	Summary     string
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]response
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Schema   json.RawMessage
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     map[string]header
	Content     map[string]media
}

type header struct {
	Ref      string `json:"$ref"`
	Required bool
	Schema   json.RawMessage
}

type media struct{ Schema json.RawMessage }

// read reads the document; everything that $ref leads to outside of schemas is
// put in its place.
func read(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := document{resolved: map[string]*jsonschema.Resolved{}}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, item := range d.Paths {
		for method, op := range item {
			for i, p := range op.Parameters {
				op.Parameters[i] = lookup(t, "parameters", p.Ref, p, d.Components.Parameters)
			}
			for status, r := range op.Responses {
				op.Responses[status] = d.resolve(t, r)
			}
			item[method] = op
		}
	}
	return d
}

func (d document) resolve(t *testing.T, r response) response {
	r = lookup(t, "responses", r.Ref, r, d.Components.Responses)
	headers := map[string]header{}
	for name, h := range r.Headers {
		headers[name] = lookup(t, "headers", h.Ref, h, d.Components.Headers)
	}
	r.Headers = headers
	return r
}

func lookup[V any](t *testing.T, kind, ref string, value V, among map[string]V) V {
	t.Helper()
	if ref == "" {
		return value
	}
	found, ok := among[strings.TrimPrefix(ref, "#/components/"+kind+"/")]
	if !ok {
		t.Errorf("%s leads to no component of %s", ref, kind)
	}
	return found
}

// schema makes a schema of the document usable by itself. A member that it
// does not name is an error, unless it says that there may be others.
func (d document) schema(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	if known, ok := d.resolved[string(raw)]; ok {
		return known
	}
	components, err := json.Marshal(d.Components.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	text := strings.ReplaceAll(`{"allOf":[`+string(raw)+`],"$defs":`+string(components)+`}`, "#/components/schemas/", "#/$defs/")
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	closed, err := json.Marshal(closing(root))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(closed, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	d.resolved[string(raw)] = resolved
	return resolved
}

// closing forbids what objects with named members do not name.
func closing(value any) any {
	switch v := value.(type) {
	case map[string]any:
		_, open := v["additionalProperties"]
		if _, named := v["properties"].(map[string]any); named && !open {
			v["additionalProperties"] = false
		}
		for name, member := range v {
			v[name] = closing(member)
		}
	case []any:
		for i, item := range v {
			v[i] = closing(item)
		}
	}
	return value
}

// operations calls visit for each operation, in the order of paths and methods.
func (d document) operations(visit func(template, method string, op operation)) {
	for _, template := range sorted(d.Paths) {
		for _, method := range sorted(d.Paths[template]) {
			visit(template, method, d.Paths[template][method])
		}
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var (
	variable  = regexp.MustCompile(`\{([^{}]+)\}`)
	component = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)
)

func TestTheDocumentKeepsTheRulesOfOpenAPI(t *testing.T) {
	d := read(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") || d.Info.Title == "" || d.Info.Version == "" {
		t.Errorf("version %q, title %q of version %q", d.OpenAPI, d.Info.Title, d.Info.Version)
	}
	ids := map[string]string{}
	d.operations(func(template, method string, op operation) {
		where := method + " " + template
		if other := ids[op.OperationID]; op.OperationID == "" || other != "" {
			t.Errorf("%s: operationId %q, also of %q", where, op.OperationID, other)
		}
		ids[op.OperationID] = where
		if !strings.HasPrefix(template, "/") || op.Summary == "" || !slices.Contains([]string{"get", "head", "post", "delete"}, method) {
			t.Errorf("%s: not a path, a method or without a summary", where)
		}
		d.checkParameters(t, where, template, op)
		d.checkResponses(t, where, op)
		for _, tag := range op.Tags {
			if !slices.ContainsFunc(d.Tags, func(known struct{ Name string }) bool { return known.Name == tag }) {
				t.Errorf("%s: tag %s is not declared", where, tag)
			}
		}
		for _, alternative := range slices.Concat(d.Security, op.Security) {
			for scheme := range alternative {
				if s := d.Components.SecuritySchemes[scheme]; s.Type != "http" && (s.Type != "apiKey" || s.In != "header" || s.Name == "") {
					t.Errorf("%s: security scheme %s is not declared", where, scheme)
				}
			}
		}
	})
}

func (d document) checkParameters(t *testing.T, where, template string, op operation) {
	t.Helper()
	var declared []string
	seen := map[string]bool{}
	for _, p := range op.Parameters {
		if seen[p.In+" "+p.Name] || p.Name == "" || p.Schema == nil {
			t.Errorf("%s: parameter %q is repeated or has no schema", where, p.Name)
		}
		seen[p.In+" "+p.Name] = true
		d.schema(t, p.Schema)
		switch p.In {
		case "path":
			declared = append(declared, p.Name)
			if !p.Required { // 3.1.0, Parameter Object: a path's must be
				t.Errorf("%s: parameter %s of the path is not required", where, p.Name)
			}
		case "header": // the same: three headers are ignored as parameters
			if slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
				t.Errorf("%s: header %s cannot be a parameter", where, p.Name)
			}
		default:
			t.Errorf("%s: parameter %s in %q", where, p.Name, p.In)
		}
	}
	var wanted []string
	for _, match := range variable.FindAllStringSubmatch(template, -1) {
		wanted = append(wanted, match[1])
	}
	if slices.Sort(declared); !slices.Equal(declared, slices.Sorted(slices.Values(wanted))) {
		t.Errorf("%s: parameters %v of the path, want %v", where, declared, wanted)
	}
}

func (d document) checkResponses(t *testing.T, where string, op operation) {
	t.Helper()
	if len(op.Responses) == 0 {
		t.Errorf("%s: no responses", where)
	}
	if op.RequestBody != nil {
		for kind, content := range op.RequestBody.Content {
			d.schema(t, content.Schema)
			if kind != "application/json" {
				t.Errorf("%s: a body of type %s", where, kind)
			}
		}
	}
	for status, r := range op.Responses {
		if r.Description == "" || !regexp.MustCompile(`^[1-5][0-9][0-9]$`).MatchString(status) {
			t.Errorf("%s: response %q without a description or a status", where, status)
		}
		for kind, content := range r.Content {
			if content.Schema == nil {
				t.Errorf("%s: response %s of type %s has no schema", where, status, kind)
			}
			d.schema(t, content.Schema)
		}
	}
}

func TestEveryComponentIsNamedAndUsed(t *testing.T) {
	d := read(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for kind, names := range map[string][]string{
		"parameters": sorted(d.Components.Parameters), "headers": sorted(d.Components.Headers),
		"responses": sorted(d.Components.Responses), "schemas": sorted(d.Components.Schemas),
	} {
		for _, name := range names {
			if !component.MatchString(name) || !strings.Contains(string(text), fmt.Sprintf("%q", "#/components/"+kind+"/"+name)) {
				t.Errorf("component %s of %s is not used", name, kind)
			}
		}
	}
}

package policy

import (
	"bytes"
	"encoding/json"

	"mcprelay/shared/call"
)

// schemaVersion is the version of the input document.
const schemaVersion = 1

// Input is what policies are asked about: one call of one caller.
type Input struct {
	Subject string
	Issuer  string // who named Subject; empty for the tenant itself
	Kind    string
	Scopes  []string

	Backend string // the server
	Tool    string // the upstream's own name
	URI     string // the upstream's own URI
	Prompt  string // the upstream's own name

	Method string
	Params json.RawMessage // the agent's params, whole; nil for none

	Tenant      string
	Run         string
	Turn        string
	Effect      call.Effect
	Metadata    json.RawMessage // of the tool, by configuration; nil for none
	BudgetClass string
}

// document is the input document. Every member is always there: a policy that
// compares an absent member, even with "!=", says nothing at all, and would
// allow what it was written to deny.
type document struct {
	Auth          authDocument    `json:"auth"`
	Gateway       gatewayDocument `json:"gateway"`
	Request       requestDocument `json:"request"`
	SchemaVersion int             `json:"schema_version"`
	Relay         relayDocument   `json:"relay"`
}

type authDocument struct {
	Subject string   `json:"subject"`
	Issuer  string   `json:"issuer"`
	Kind    string   `json:"kind"`
	Scopes  []string `json:"scopes"`
}

type gatewayDocument struct {
	Backend string `json:"backend"`
	Tool    string `json:"upstream_tool"`
	URI     string `json:"upstream_uri"`
	Prompt  string `json:"upstream_prompt"`
}

type requestDocument struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type relayDocument struct {
	Tenant      string          `json:"tenant"`
	Run         string          `json:"run"`
	Turn        string          `json:"turn"`
	Effect      call.Effect     `json:"effect"`
	Metadata    json.RawMessage `json:"metadata"`
	BudgetClass string          `json:"budget_class"`
}

// Document is the input document of policies, of schema_version 1. Numbers are
// the digits that the agent wrote. What does not apply to the call is empty;
// the effect of a tool that nobody classified is write. It fails for params or
// metadata that are not JSON.
func (in Input) Document() (json.RawMessage, error) {
	effect := in.Effect
	if effect != call.EffectRead {
		effect = call.EffectWrite
	}
	doc := document{
		Auth:          authDocument{in.Subject, in.Issuer, in.Kind, append([]string{}, in.Scopes...)},
		Gateway:       gatewayDocument{in.Backend, in.Tool, in.URI, in.Prompt},
		Request:       requestDocument{in.Method, object(in.Params)},
		SchemaVersion: schemaVersion,
		Relay:         relayDocument{in.Tenant, in.Run, in.Turn, effect, object(in.Metadata), in.BudgetClass},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	// The document is shown to people too, who compare it with what was sent.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// object is raw, or an empty object for nothing.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

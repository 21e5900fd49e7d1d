package policy

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// Input is what policies are asked about: one call of one caller.
type Input struct {
	Subject string
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

// Document is the input document of policies, for schema_version 1. Numbers
// are the bytes that the agent wrote.
func (in Input) Document() (json.RawMessage, error) { return nil, nil }

package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
)

// maxMetadata bounds the policy metadata of one tool, in bytes of compact JSON.
// It is recorded with every call.
const maxMetadata = 1024

// readTools reads everything of a server that is keyed by tool, and checks
// that it fits together.
func readTools(config object, s *registry.Server) {
	s.AllowedTools = config.get("allowed_tools").texts(registry.ToolName)
	known := func(at node, tool string) {
		if s.AllowedTools != nil && !slices.Contains(s.AllowedTools, tool) {
			at.fail("this tool is not in allowed_tools")
		}
	}
	s.Effects = byTool(config.get("effects"), known, func(n node) call.Effect {
		if !n.is('"', "a string") {
			return ""
		}
		return call.Effect(n.word(string(call.EffectRead), string(call.EffectWrite)))
	})
	s.Bindings = byTool(config.get("bindings"), known, func(n node) string { return n.name(registry.OfferedName) })
	s.BudgetClasses = byTool(config.get("budget_classes"), known, func(n node) string { return n.name(registry.BudgetClass) })
	s.PolicyMetadata = byTool(config.get("policy_metadata"), known, readMetadata)
	s.ToolLimits = byTool(config.get("limits"), known, readToolLimit)
	checkEffects(config, s)
	checkBindings(config, s)
	checkMetadata(config, s)
}

// byTool reads a map from upstream names; nil where n is not there or empty.
func byTool[V any](n node, known func(node, string), read func(node) V) map[string]V {
	var values map[string]V
	for _, m := range n.entries() {
		if err := registry.ToolName(m.name); err != nil {
			m.value.fail("the name of a tool: %v", err)
		}
		known(m.value, m.name)
		if values == nil {
			values = make(map[string]V)
		}
		values[m.name] = read(m.value)
	}
	return values
}

func readMetadata(n node) json.RawMessage {
	if !n.is('{', "an object") {
		return nil
	}
	raw := n.compact()
	if len(raw) > maxMetadata {
		n.fail("it is larger than %d bytes of compact JSON", maxMetadata)
	}
	return json.RawMessage(raw)
}

// checkEffects wants an effect for every allowed tool.
func checkEffects(config object, s *registry.Server) {
	for _, tool := range s.AllowedTools {
		if _, ok := s.Effects[tool]; !ok {
			config.get("effects").child(tool).fail("tool %s of allowed_tools needs an effect, read or write", quoted(tool))
		}
	}
}

// checkBindings wants different offered names for different tools.
func checkBindings(config object, s *registry.Server) {
	at := config.get("bindings")
	takenBy := make(map[string]string)
	for _, tool := range s.AllowedTools {
		if _, bound := s.Bindings[tool]; !bound {
			takenBy[tool] = tool
		}
	}
	for _, m := range at.entries() {
		offered := s.Bindings[m.name]
		if other, taken := takenBy[offered]; taken {
			m.value.fail("tool %s is offered under this name already", quoted(other))
		}
		takenBy[offered] = m.name
	}
	for _, tool := range s.AllowedTools {
		if err := registry.OfferedName(tool); err != nil && s.Bindings[tool] == "" {
			at.child(tool).fail("tool %s needs a binding: its own name cannot be offered: %v", quoted(tool), err)
		}
	}
}

// quoted is the name of a tool for an error.
func quoted(tool string) string {
	if value(tool) {
		return "(its name looks like a secret)"
	}
	return fmt.Sprintf("%.128q", tool)
}

// checkMetadata refuses metadata that calls a write tool, or one that nobody
// classified, read-only.
func checkMetadata(config object, s *registry.Server) {
	for _, m := range config.get("policy_metadata").entries() {
		if m.value.kind != '{' {
			continue
		}
		readOnly := object{m.value}.get("read_only")
		if readOnly.flag(false) && s.Effect(m.name) != call.EffectRead {
			readOnly.fail("the effect of this tool is %s", effect(s.Effect(m.name)))
		}
	}
}

func effect(e call.Effect) string {
	if e == call.EffectUnclassified {
		return "not set, which counts as write"
	}
	return fmt.Sprint(e)
}

package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// readPolicies reads and compiles the Rego policies, sorted by name.
func (p parts) readPolicies() ([]registry.Policy, *policy.Engine) {
	if tooMany(p.policies, policy.MaxPolicies, "policies") {
		return nil, nil
	}
	problems := len(p.report.problems)
	var policies []registry.Policy
	places := make(map[string]node)
	for _, n := range p.policies {
		one, place := p.readPolicy(n)
		if _, taken := places[one.Name]; taken && one.Name != "" {
			object{n}.get("name").fail("another policy has this name")
		}
		places[one.Name] = place
		policies = append(policies, one)
	}
	slices.SortFunc(policies, func(a, b registry.Policy) int { return cmp.Compare(a.Name, b.Name) })
	if len(p.report.problems) > problems {
		return policies, nil
	}
	if before := p.options.Before; before != nil && slices.Equal(before.Policies, policies) {
		return policies, before.Engine
	}
	// What is switched on one day must not fail on that day.
	compile(policies, false, places)
	return policies, compile(policies, true, places)
}

// readPolicy gives a policy and the place of its source.
func (p parts) readPolicy(n node) (registry.Policy, node) {
	o := n.object("name file source enabled mode")
	one := registry.Policy{
		Name:    o.get("name").name(registry.PolicyName),
		Enabled: o.get("enabled").flag(true),
		Mode:    o.get("mode").word(registry.ModeEnforce, registry.ModeAudit),
	}
	file, source := o.get("file"), o.get("source")
	switch {
	case !o.present():
		return one, n
	case !file.present():
		one.Source = source.name(sourceText)
		return one, source
	case source.present():
		file.fail("it cannot stand beside source")
	default:
		one.Source = p.readSource(file)
	}
	return one, file
}

// readSource reads the file that a policy names.
func (p parts) readSource(n node) string {
	problems := len(n.report.problems)
	name := n.name(sourceFile)
	switch {
	case len(n.report.problems) > problems:
		return ""
	case p.read == nil:
		n.fail("there is no folder to look for it in: only a config file names files, everything else has the source itself")
		return ""
	}
	text, err := p.read(name)
	if err == nil {
		err = sourceText(string(text))
	}
	n.check(err)
	return string(text)
}

// sourceFile wants a file below the folder of the config file.
func sourceFile(s string) error {
	if !filepath.IsLocal(s) || filepath.Clean(s) != s || s == "." || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("it is not a clean path below the folder of the config file")
	}
	return nil
}

// sourceText checks a policy before anything reads it.
func sourceText(s string) error {
	switch {
	case len(s) > policy.MaxSource:
		return fmt.Errorf("it is larger than %d bytes", policy.MaxSource)
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty")
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	}
	return nil
}

// compile makes the policies ready that are enabled, or those that are not; nil
// where there are none of them, or one is unusable.
func compile(policies []registry.Policy, enabled bool, places map[string]node) *policy.Engine {
	var sources []policy.Source
	for _, one := range policies {
		if one.Enabled == enabled {
			sources = append(sources, policy.Source{Name: one.Name, Text: one.Source, Audit: one.Mode == registry.ModeAudit})
		}
	}
	if sources == nil {
		return nil
	}
	engine, warnings, err := policy.NewEngine(sources)
	if err != nil {
		broken(sources, err, places)
		return nil
	}
	for _, w := range warnings {
		places[w.Policy].warn("%s", w.Text)
	}
	return engine
}

// broken reports why policies cannot be used.
func broken(sources []policy.Source, err error, places map[string]node) {
	at, message, where := places[sources[0].Name], err.Error(), (*policy.CompileError)(nil)
	if errors.As(err, &where) {
		at, message = places[where.Policy], where.Message
	}
	message = strings.Join(strings.Fields(message), " ")
	if holdsValue(message) {
		message = "it is not usable Rego; the compiler's message is left out, since it may repeat a secret"
	}
	if where != nil && where.Line > 0 {
		message = fmt.Sprintf("line %d, column %d: %s", where.Line, where.Column, message)
	}
	at.fail("%s", message)
}

// policyItem is a policy as a store keeps it: with its source, wherever a file
// has it.
func policyItem(n node, policies []registry.Policy) json.RawMessage {
	name := object{n}.get("name").optional()
	at := slices.IndexFunc(policies, func(one registry.Policy) bool { return one.Name == name })
	if at < 0 || !(object{n}).get("file").present() {
		return n.item()
	}
	source, err := jsontext.AppendQuote(nil, policies[at].Source)
	n.check(err)
	body := []byte{'{'}
	for i, m := range n.members {
		if i > 0 {
			body = append(body, ',')
		}
		if m.name == "file" {
			body = append(append(body, `"source":`...), source...)
			continue
		}
		body = fmt.Appendf(body, "%q:%s", m.name, m.value.compact())
	}
	return n.bounded(append(body, '}'))
}

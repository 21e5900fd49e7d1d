package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Item is one resource, resource template or prompt of a server. Raw is the
// descriptor as the server sent it.
type Item struct {
	Name string // uri, uriTemplate or name
	Raw  json.RawMessage
}

// Items reads the raw descriptors of a list that is not of tools. One without
// what MCP requires of its kind (2025-11-25, schema, Resource,
// ResourceTemplate, Prompt), of a name seen before or over its bound is left
// out and reported: an agent that checks what it gets would lose the whole
// list by it. The others stay, in the order of the server.
func Items(list call.List, raw []json.RawMessage, bounds Bounds) ([]Item, []Skip) {
	k := kind{list: list, name: "uri", check: checkURI, rest: checkNamed}
	switch list {
	case call.ListTemplates:
		k.name = "uriTemplate"
	case call.ListPrompts:
		k.name, k.check, k.rest = "name", bounds.named, checkPrompt
	}
	return read(raw, bounds, k)
}

// kind is how the descriptors of one list are read.
type kind struct {
	list  call.List
	name  string                       // the member that names one
	check func(string) error           // what is wrong with a name
	rest  func(json.RawMessage) string // what is wrong with anything else
}

// read keeps the usable descriptors and reports the others.
func read(raw []json.RawMessage, bounds Bounds, k kind) ([]Item, []Skip) {
	kept := make([]Item, 0, len(raw))
	seen := make(map[string]bool, len(raw))
	var skips []Skip
	for i, descriptor := range raw {
		name, reason := k.judge(descriptor, bounds)
		switch {
		case reason == "" && seen[name]:
			reason = "another of this " + k.name + " came before"
		case reason != "" && name == "":
			reason = fmt.Sprintf("descriptor %d: %s", i+1, reason)
		}
		if reason != "" {
			skips = append(skips, Skip{List: k.list, Name: name, Reason: reason})
			continue
		}
		seen[name] = true
		kept = append(kept, Item{Name: name, Raw: descriptor})
	}
	return kept, skips
}

// judge gives a descriptor's name, empty where it is unusable, and what is
// wrong with it.
func (k kind) judge(descriptor json.RawMessage, bounds Bounds) (name, reason string) {
	name, ok := text(descriptor, k.name)
	if !ok || name == "" {
		return "", "it has no " + k.name
	}
	if err := k.check(name); err != nil {
		return "", "its " + k.name + " is unusable: " + err.Error()
	}
	if bounds.Bytes > 0 && int64(len(descriptor)) > bounds.Bytes {
		return name, "its description is over max_descriptor_bytes"
	}
	return name, k.rest(descriptor)
}

// text is a member that is a string.
func text(object json.RawMessage, name string) (string, bool) {
	member, ok := wire.Member(object, name)
	if !ok || len(member) == 0 || member[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(member, &s) == nil
}

// named is what is wrong with the name of a tool or a prompt.
func (b Bounds) named(name string) error {
	if b.Name == nil {
		return nil
	}
	return b.Name(name)
}

// checkURI says what is wrong with a URI or a template of one, which is a name
// to the relay and nothing that it fetches. One that no agent could ask for, or
// no header carry, is not listed either.
func checkURI(s string) error {
	switch {
	case len(s) > wire.MaxName:
		return fmt.Errorf("it is longer than %d bytes", wire.MaxName)
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	case strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("it begins or ends with a blank, or holds a control character")
	}
	return nil
}

// checkNamed wants the name that a resource or a template has beside its URI.
func checkNamed(descriptor json.RawMessage) string {
	if _, ok := text(descriptor, "name"); !ok {
		return "it has no name"
	}
	return ""
}

// checkPrompt wants arguments, where there are any, to have names.
func checkPrompt(descriptor json.RawMessage) string {
	arguments, ok := wire.Member(descriptor, "arguments")
	if !ok || string(arguments) == "null" {
		return ""
	}
	var all []json.RawMessage
	if json.Unmarshal(arguments, &all) != nil {
		return "its arguments are not a list"
	}
	for i, argument := range all {
		if _, ok := text(argument, "name"); !ok {
			return fmt.Sprintf("its argument %d has no name", i+1)
		}
	}
	return ""
}

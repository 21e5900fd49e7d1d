package relay

import (
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

const (
	// MaxLeftOut bounds what is told of one server, so that one with thousands of
	// odd descriptors does not fill the reply about all servers.
	MaxLeftOut = 32
	// maxLeftText bounds each of its texts, in bytes.
	maxLeftText = 256
)

// LeftOut is an item that a server has and no list shows, though no rule and no
// pin is against it, and why.
type LeftOut struct {
	List   call.List `json:"list"`
	Name   string    `json:"name,omitempty"` // the upstream's own; empty where it has none that could be shown
	Reason string    `json:"reason"`
}

// Leave is what is left out of a list of items, its texts bounded.
func Leave(list call.List, name, reason string) LeftOut {
	return LeftOut{List: list, Name: beginning(name), Reason: beginning(reason)}
}

// LeftOut are the first [MaxLeftOut] items that are left out: unusable
// descriptors, and tools that could not be called, since what they would be
// offered under leads to another. What the rules deny is not told of.
func (v View) LeftOut() []LeftOut {
	if !v.Known() {
		return nil
	}
	var all []LeftOut
	for _, skip := range v.Catalog.Skips {
		if len(all) < MaxLeftOut && (skip.Name == "" || policy.Offers(v.tenant.Rules, skipTarget(v, skip.List, skip.Name))) {
			all = append(all, Leave(skip.List, skip.Name, skip.Reason))
		}
	}
	for _, tool := range v.Catalog.Tools {
		if len(all) < MaxLeftOut && !callable(v.server, tool.Name) && v.caller.Offered(target(v.tenant, v.server, tool.Name)) && policy.Offers(v.tenant.Rules, target(v.tenant, v.server, tool.Name)) {
			all = append(all, Leave(call.ListTools, tool.Name, "another tool is offered under its name"))
		}
	}
	return all
}

func skipTarget(v View, list call.List, name string) policy.Target {
	if list == call.ListTools {
		return target(v.tenant, v.server, name)
	}
	return itemTarget(v.tenant, v.server, list, name)
}

// beginning is the beginning of a text, whole characters of it.
func beginning(text string) string {
	if len(text) <= maxLeftText {
		return text
	}
	return strings.ToValidUTF8(text[:maxLeftText], "") + "…"
}

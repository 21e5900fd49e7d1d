package front

import (
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/relay"
)

// leftOut are the items of a server that no list shows, and those that the path
// of all servers cannot show beside others; at most [relay.MaxLeftOut].
func leftOut(v relay.View) []relay.LeftOut {
	all := v.LeftOut()
	for _, list := range []call.List{call.ListTools, call.ListPrompts, call.ListTemplates} {
		shown := v.List(list)
		shared := sharing(desk{}, v.Server, list, shown)
		for i, s := range shown {
			if reason := unshown(v.Server, list, s, shared[i]); reason != "" && len(all) < relay.MaxLeftOut {
				all = append(all, relay.Leave(list, s.Upstream, reason))
			}
		}
	}
	return all
}

// unshown says why the path of all servers does not show an item, empty where
// it does.
func unshown(server string, list call.List, item relay.Shown, shared bool) string {
	if shared {
		return "among those of all servers its name would be another's too"
	}
	if list == call.ListTemplates {
		if _, err := catalog.TemplateURI(server, item.Upstream); err != nil {
			return "among those of all servers it cannot be shown: " + err.Error()
		}
	}
	return ""
}

// sharing are the indexes of the items whose names on the desk's path are not
// theirs alone.
func sharing(d desk, server string, list call.List, shown []relay.Shown) map[int]bool {
	names, exact := make([]string, len(shown)), make([]bool, len(shown))
	for i, s := range shown {
		names[i], exact[i] = s.Name, true
		if d.server == "" && (list == call.ListTools || list == call.ListPrompts) {
			names[i] = catalog.Shown(server, s.Name)
			exact[i] = plainly(server, s.Name, names[i])
		}
	}
	return collided(names, exact)
}

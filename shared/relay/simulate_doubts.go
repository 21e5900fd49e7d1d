package relay

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// doubts are what an operator may have meant otherwise: names that nothing has,
// each with the nearest one that something has. What a server offers is known
// as far as it was read before; it is not asked.
func (r *Relay) doubts(ctx context.Context, p plan, q Question) []string {
	var all []string
	if agents := slices.Collect(maps.Keys(p.tenant.Agents)); len(agents) > 0 {
		all = unless(all, q.Subject, agents, "no agent is registered as %.64q, so the rules alone hold it")
	}
	server, ok := p.tenant.Servers[q.Server]
	if !ok {
		return unless(all, q.Server, slices.Collect(maps.Keys(p.tenant.Servers)), "no server is named %.64q")
	}
	p.server = server
	names, known := r.names(ctx, p, q)
	switch {
	case q.Resource != "": // a server may have more of them than it lists
	case !known:
		all = append(all, fmt.Sprintf("what server %s offers has not been read yet, so that nobody knows whether it has %.64q", q.Server, q.Tool+q.Prompt))
	case q.Tool != "":
		all = unless(all, q.Tool, names, "server "+q.Server+" has no tool %.64q")
	case q.Prompt != "":
		all = unless(all, q.Prompt, names, "server "+q.Server+" has no prompt %.64q")
	}
	return all
}

// names are those of the tools, as offered, or of the prompts of a server, as
// far as they are known.
func (r *Relay) names(ctx context.Context, p plan, q Question) (names []string, known bool) {
	if q.Tool != "" && p.server.AllowedTools != nil {
		for _, tool := range p.server.AllowedTools {
			names = append(names, p.server.Offered(tool))
		}
		return names, true
	}
	k := r.known(ctx, p)
	if !k.current() {
		return nil, false
	}
	if q.Tool != "" {
		for _, tool := range k.catalog.Tools {
			names = append(names, p.server.Offered(tool.Name))
		}
		return names, true
	}
	for _, prompt := range k.catalog.Prompts {
		names = append(names, prompt.Name)
	}
	return names, !k.catalog.Listed.IsZero()
}

// unless adds a doubt where name is none of names, with the nearest of them.
func unless(doubts []string, name string, names []string, format string) []string {
	if slices.Contains(names, name) {
		return doubts
	}
	doubt := fmt.Sprintf(format, name)
	if near := nearest(name, names); near != "" {
		doubt += fmt.Sprintf("; the nearest is %.64q", near)
	}
	return append(doubts, doubt)
}

// maxNear bounds what is compared of a name, in characters: comparing takes the
// product of two lengths, and a server may have thousands of names.
const maxNear = 64

// nearest is the one of names that the fewest edits make of name, the first in
// their order where several are as near; empty for none.
func nearest(name string, names []string) string {
	best, least := "", maxNear+1
	for _, other := range slices.Sorted(slices.Values(names)) {
		if d := edits(name, other); d < least {
			best, least = other, d
		}
	}
	return best
}

// edits is how many characters have to be put in, taken out or replaced to make
// one text of the other (Levenshtein's distance).
func edits(one, other string) int {
	a, b := []rune(one), []rune(other)
	a, b = a[:min(len(a), maxNear)], b[:min(len(b), maxNear)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		corner := row[0]
		row[0] = i + 1
		for j := range b {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

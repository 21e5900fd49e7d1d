package front

import (
	"encoding/json"
	"net/http"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// initialize opens the relay for an agent of 2025-11-25 or older. No session
// begins: every request stands for itself.
func (f *Front) initialize(w http.ResponseWriter, r *http.Request, q request) {
	views, refusal := f.opened(r, q)
	if refusal != nil {
		writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
		return
	}
	version := wire.Legacy
	if asked, ok := wire.Member(q.Params, "protocolVersion"); ok {
		var text string
		if json.Unmarshal(asked, &text) == nil && wire.IsLegacy(text) {
			version = text
		}
	}
	about := f.about(q, views)
	about["protocolVersion"], about["serverInfo"] = version, f.info
	f.result(w, q, quoted(about))
}

// discover is server/discover of 2026-07-28. What it says changes when the
// lists do.
func (f *Front) discover(w http.ResponseWriter, r *http.Request, q request) {
	views, refusal := f.opened(r, q)
	if refusal != nil {
		writeRPCRefusal(w, q.call, q.ID, mcpStatus(refusal), refusal)
		return
	}
	about := f.about(q, views)
	about["supportedVersions"] = wire.Versions()
	text := quoted(about)
	f.result(w, q, f.finish(text[:len(text)-1], q, views, ""))
}

// opened are the servers of the path for an agent that opens the relay. One that
// cannot be read says nothing of itself, and does not keep the agent from what
// else works: its prompts, or itself a moment later.
func (f *Front) opened(r *http.Request, q request) ([]relay.View, *call.Refusal) {
	if q.desk.server == "" {
		return f.Relay.Views(r.Context(), q.call)
	}
	view, refusal := f.Relay.Look(r.Context(), q.call, relay.FirstWait)
	if refusal != nil {
		return nil, f.Relay.Refuse(r.Context(), q.call, refusal)
	}
	return []relay.View{view}, nil
}

// about is what the relay says of the servers behind it: on the path of one,
// that server's capabilities and instructions, on the path of all the union
// (DESIGN 8.14). Nobody is told of changes, so nobody is promised it.
func (f *Front) about(q request, views []relay.View) map[string]any {
	var offers call.Offers
	for _, v := range views {
		offers |= v.Catalog.Offers
		// Servers have tools without a word, and of some nothing is known yet.
		if len(v.Tools()) > 0 || !v.Catalog.Offers.Has(call.Announced) {
			offers |= call.OffersTools
		}
	}
	capabilities := map[string]json.RawMessage{}
	for name, what := range map[string]call.Offers{
		"tools": call.OffersTools, "resources": call.OffersResources, "prompts": call.OffersPrompts,
		"completions": call.OffersCompletions, "logging": call.OffersLogging,
	} {
		if offers.Has(what) {
			capabilities[name] = json.RawMessage(`{}`)
		}
	}
	about := map[string]any{"capabilities": capabilities}
	if text := instructions(q, views); text != "" {
		about["instructions"] = text
	}
	return about
}

// maxInstructions bounds the instructions of all servers together, in bytes:
// they go into a model's context with every conversation.
const maxInstructions = 16 << 10

// instructions are what the servers want a model to know. On the path of all
// each has its server's name above it; those that no longer fit are left out
// whole.
func instructions(q request, views []relay.View) string {
	if q.desk.server != "" {
		return views[0].Catalog.Instructions
	}
	var all strings.Builder
	for _, v := range views {
		text := v.Catalog.Instructions
		if text == "" || all.Len()+len(text) > maxInstructions {
			continue
		}
		if all.Len() > 0 {
			all.WriteString("\n\n")
		}
		all.WriteString("## " + v.Server + "\n\n" + underneath(text))
	}
	return all.String()
}

// underneath keeps a server's text from speaking under another's heading.
func underneath(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			lines[i] = "\\" + strings.TrimLeft(line, " \t")
		}
	}
	return strings.Join(lines, "\n")
}

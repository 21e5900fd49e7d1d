package call_test

import (
	"strings"
	"testing"

	"mcprelay/shared/call"
)

func TestServerLacksWhatItDidNotAnnounce(t *testing.T) {
	all := []call.List{"", call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts}
	for offers, want := range map[call.Offers]string{
		0:                                     "",
		call.OffersPrompts:                    "", // it announced nothing: a state from elsewhere
		call.Announced:                        "resources resource_templates prompts",
		call.Announced | call.OffersTools:     "resources resource_templates prompts",
		call.Announced | call.OffersResources: "prompts",
		call.Announced | call.OffersPrompts:   "resources resource_templates",
		call.Announced | call.OffersPrompts | call.OffersResources: "",
	} {
		var lacking []string
		for _, l := range all {
			if offers.Lacks(l) {
				lacking = append(lacking, string(l))
			}
		}
		if got := strings.Join(lacking, " "); got != want {
			t.Errorf("%d: want %q, got %q", offers, want, got)
		}
	}
}

func TestOffersHoldAllOrNotAll(t *testing.T) {
	offers := call.Announced | call.OffersTools | call.OffersLogging
	for what, want := range map[call.Offers]bool{
		0: true, call.OffersTools: true, call.OffersLogging | call.OffersTools: true,
		call.OffersPrompts: false, call.OffersTools | call.OffersCompletions: false,
	} {
		if got := offers.Has(what); got != want {
			t.Errorf("%d: got %v, want %v", what, got, want)
		}
	}
}

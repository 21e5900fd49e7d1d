package wire_test

import (
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

func TestEveryListHasItsMethodAndMember(t *testing.T) {
	for list, want := range map[call.List][2]string{
		call.ListTools: {"tools/list", "tools"}, call.ListResources: {"resources/list", "resources"},
		call.ListTemplates: {"resources/templates/list", "resourceTemplates"}, call.ListPrompts: {"prompts/list", "prompts"},
	} {
		l, ok := wire.ListingOf(list)
		back, asked := wire.ListedBy(want[0])
		if !ok || !asked || l != back || l != (wire.Listing{List: list, Method: want[0], Member: want[1]}) {
			t.Errorf("%s: got %+v, %v, and by its method %+v, %v", list, l, ok, back, asked)
		}
	}
	_, ok := wire.ListingOf("roots")
	if _, asked := wire.ListedBy("roots/list"); ok || asked {
		t.Error("a list that servers do not have is known")
	}
}

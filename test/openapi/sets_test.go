package openapi_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"mcprelay/shared/call"
)

var update = flag.Bool("update", false, "write the closed sets of package call into the document")

// sets are the closed sets of the table of reasons, in its order, without what
// an answered call has.
func sets() map[string][]string {
	out := map[string][]string{"Effect": {string(call.ImpactNone), string(call.ImpactUnknown), string(call.ImpactDone)}}
	add := func(name, value string) {
		if !slices.Contains(out[name], value) {
			out[name] = append(out[name], value)
		}
	}
	for _, row := range call.Reasons() {
		if row.Outcome == call.Answered {
			continue
		}
		add("Reason", string(row.Reason))
		add("Outcome", string(row.Outcome))
		add("Stage", string(row.Stage))
	}
	return out
}

func TestTheClosedSetsAreThoseOfTheTable(t *testing.T) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written := string(text)
	for name, values := range sets() {
		list, err := json.MarshalIndent(values, "        ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		place := regexp.MustCompile(`(?s)(\n      "` + name + `": \{\n        "type": "string",\n[^{}]*?"enum": )\[[^\]]*\]`)
		if len(place.FindAllString(written, -1)) != 1 {
			t.Fatalf("the document has no one place for the values of %s", name)
		}
		written = place.ReplaceAllString(written, "${1}"+string(list))
	}
	if written == string(text) {
		return
	}
	if !*update {
		t.Fatal("the document's sets are not those of package call: run `go test ./test/openapi -update`")
	}
	if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A call of a tool can end in every way but those of other methods and paths.
func TestACallHasEveryStatusOfTheTable(t *testing.T) {
	tool := read(t).Paths["/v1/servers/{server}/tools/{tool}"]["post"]
	for _, row := range call.Reasons() {
		if _, ok := tool.Responses[strconv.Itoa(row.Status)]; !ok && row.Reason != call.MethodNotAllowed {
			t.Errorf("%s has status %d, which the document lacks", row.Reason, row.Status)
		}
	}
}

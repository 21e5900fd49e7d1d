package call_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"mcprelay/shared/call"
)

// declared reads the string constants of a type from the package's source, so
// that a constant without a row cannot pass unnoticed.
func declared(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, decl := range parsed.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			if ident, ok := constant.Type.(*ast.Ident); !ok || ident.Name != typeName {
				continue
			}
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		t.Fatalf("no constants of type %s in %s", typeName, file)
	}
	return values
}

func TestEveryReasonHasExactlyOneRow(t *testing.T) {
	rows := map[string]int{}
	for _, row := range call.Reasons() {
		rows[string(row.Reason)]++
	}
	reasons := declared(t, "reason.go", "Reason")
	for _, reason := range reasons {
		if rows[reason] != 1 {
			t.Errorf("reason %s has %d rows, want 1", reason, rows[reason])
		}
	}
	if len(rows) != len(reasons) {
		t.Errorf("the table has %d reasons, want the %d declared", len(rows), len(reasons))
	}
}

func TestRowsUseTheClosedSets(t *testing.T) {
	outcomes := set(declared(t, "outcome.go", "Outcome"))
	stages := set(declared(t, "outcome.go", "Stage"))
	impacts := set(declared(t, "outcome.go", "Impact"))
	for _, row := range call.Reasons() {
		if !outcomes[string(row.Outcome)] || !stages[string(row.Stage)] || !impacts[string(row.Impact)] {
			t.Errorf("%s: outcome %q, stage %q or impact %q is outside its set", row.Reason, row.Outcome, row.Stage, row.Impact)
		}
		if row.Status < 200 || row.Status > 599 {
			t.Errorf("%s: status %d", row.Reason, row.Status)
		}
	}
}

func set(values []string) map[string]bool {
	members := map[string]bool{}
	for _, value := range values {
		members[value] = true
	}
	return members
}

func TestCodesOfTheRelayLieOutsideTheReservedRange(t *testing.T) {
	standard := set([]string{"-32700", "-32600", "-32601", "-32602", "-32603", "-32020", "-32022", "0"})
	for _, row := range call.Reasons() {
		if standard[strconv.Itoa(row.Code)] {
			continue
		}
		if row.Code >= -32768 && row.Code <= -32000 {
			t.Errorf("%s: code %d is reserved by JSON-RPC", row.Reason, row.Code)
		}
	}
}

func TestSentencesAreConstantAndPlain(t *testing.T) {
	seen := map[string]call.Reason{}
	for _, row := range call.Reasons() {
		s := row.Sentence
		if s == "" || strings.HasSuffix(s, ".") || strings.ContainsAny(s, "%\n") || unicode.IsUpper(rune(s[0])) && !strings.HasPrefix(s, "HTTP") {
			t.Errorf("%s: sentence %q", row.Reason, s)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s share a sentence", row.Reason, other)
		}
		seen[s] = row.Reason
	}
}

func TestOnlyExecutedCallsHaveAnEffect(t *testing.T) {
	for _, row := range call.Reasons() {
		if row.Outcome == call.Answered != (row.Impact == call.ImpactDone) {
			t.Errorf("%s: outcome %s with effect %s", row.Reason, row.Outcome, row.Impact)
		}
		switch row.Outcome {
		case call.Rejected, call.RefusedByPolicy, call.RefusedByAddress:
			if row.Impact != call.ImpactNone {
				t.Errorf("%s: refused before anything was sent, yet effect %s", row.Reason, row.Impact)
			}
		}
	}
}

func TestHiddenAndMissingLookTheSame(t *testing.T) {
	for _, hidden := range []call.Reason{call.UnknownServer, call.UnknownTool, call.NoRule, call.DeniedByRule, call.RuleAsks, call.EndpointNotAllowed} {
		if got := hidden.Shown(false); got != call.NotOffered {
			t.Errorf("%s is shown as %s, want %s", hidden, got, call.NotOffered)
		}
		if got := hidden.Shown(true); got != hidden {
			t.Errorf("%s is explained as %s, want itself", hidden, got)
		}
	}
	if got := call.Connect.Shown(false); got != call.Connect {
		t.Errorf("connect is shown as %s, want itself", got)
	}
}

func TestAReasonOutsideTheSetIsInternal(t *testing.T) {
	for _, reason := range []call.Reason{"", "made_up"} {
		if got := reason.Row().Reason; got != call.Internal {
			t.Errorf("%q has the row of %s, want %s", reason, got, call.Internal)
		}
		if got := reason.Shown(true); got != call.Internal {
			t.Errorf("%q is shown as %s, want %s", reason, got, call.Internal)
		}
	}
}

package call_test

import (
	"errors"
	"io"
	"testing"

	"mcprelay/shared/call"
)

func TestTheZeroPrincipalIsNobody(t *testing.T) {
	var nobody call.Principal
	if nobody.Known() || nobody.May(call.ScopeCall) {
		t.Error("the zero principal is known or may call")
	}
	half := call.Principal{Tenant: "acme"}
	if half.Known() {
		t.Error("a principal without a subject is known")
	}
}

func TestNoScopeImpliesAnother(t *testing.T) {
	scopes := []call.Scope{call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite}
	for _, given := range scopes {
		principal := call.Principal{Tenant: "acme", Subject: "ci", Scopes: []call.Scope{given}}
		for _, asked := range scopes {
			if got, want := principal.May(asked), asked == given; got != want {
				t.Errorf("with %s, May(%s) = %v, want %v", given, asked, got, want)
			}
		}
	}
}

func TestOnlyKnownWordsAreValid(t *testing.T) {
	for _, kind := range []call.Kind{call.KindUser, call.KindServiceToken, call.KindTrustedIssuer, call.KindOther} {
		if !kind.Valid() {
			t.Errorf("kind %s is not valid", kind)
		}
	}
	for _, scope := range []call.Scope{call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite} {
		if !scope.Valid() {
			t.Errorf("scope %s is not valid", scope)
		}
	}
	if call.Kind("").Valid() || call.Kind("User").Valid() || call.Scope("").Valid() || call.Scope("admin").Valid() {
		t.Error("an unknown word is valid")
	}
}

func TestAboutNamesWhatTheCallIsAbout(t *testing.T) {
	for want, c := range map[string]call.Call{
		"search":         {Operation: call.OperationToolsCall, Tool: "search"},
		"file:///a":      {Operation: call.OperationResourcesRead, Resource: "file:///a"},
		"review":         {Operation: call.OperationPromptsGet, Prompt: "review"},
		"file:///{path}": {Operation: call.OperationComplete, Resource: "file:///{path}"},
		"plan":           {Operation: call.OperationComplete, Prompt: "plan"},
		"discover":       {Operation: call.OperationDiscover, Tool: "search"},
		"close":          {Operation: call.OperationClose},
		"approve":        {Operation: call.OperationApprove, Tool: "search", Server: "docs"},

		"logging/setLevel": {Operation: call.OperationSetLevel, Level: "debug"},
	} {
		if got := c.About(); got != want {
			t.Errorf("%s: got %q, want %q", c.Operation, got, want)
		}
	}
}

func TestOnlyAgentsRequestsAsk(t *testing.T) {
	for operation, want := range map[call.Operation]bool{
		call.OperationToolsCall: true, call.OperationResourcesRead: true, call.OperationPromptsGet: true, call.OperationComplete: true,
		call.OperationDiscover: false, call.OperationClose: false, call.OperationSetLevel: false, call.OperationApprove: false, "": false, "tools/list": false,
	} {
		if got := operation.Asks(); got != want {
			t.Errorf("%q: got %v, want %v", operation, got, want)
		}
	}
}

func TestARefusalKeepsItsCauseAndItsImpact(t *testing.T) {
	refusal := call.Refuse(call.ResetBeforeHead, "after %d bytes", 12)
	refusal.Err = io.ErrUnexpectedEOF
	if got, want := refusal.Error(), "reset_before_head: after 12 bytes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(refusal, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	if got := refusal.MayHaveRun(); got != call.ImpactUnknown {
		t.Errorf("got effect %s, want unknown", got)
	}
	refusal.Impact = call.ImpactNone
	if got := refusal.MayHaveRun(); got != call.ImpactNone {
		t.Errorf("got effect %s, want the refusal's own", got)
	}
	if got := (&call.Refusal{Reason: call.DNS}).Error(); got != "dns" {
		t.Errorf("got %q, want the bare reason", got)
	}
}

func TestARefusalIsExplainedOnlyWhereTheTenantSaysSo(t *testing.T) {
	refusal := call.Refuse(call.NoRule, "mcp.docs.tool.search")
	if got := refusal.Shown().Reason; got != call.NotOffered {
		t.Errorf("got %s, want %s", got, call.NotOffered)
	}
	refusal.Explain = true
	if got := refusal.Shown().Reason; got != call.NoRule {
		t.Errorf("got %s, want %s", got, call.NoRule)
	}
}

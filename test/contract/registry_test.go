package contract_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
	"mcprelay/shared/token"
)

func registryChecks() []check {
	return []check{
		{"a tenant that registered nothing has no documents", nothing, noDocuments},
		{"documents are read back byte for byte, by kind and name", nothing, documentsAreReadBack},
		{"documents of every kind are kept apart, by kind and name", nothing, documentsOfEveryKind},
		{"the tenants that registered an issuer are found by it", nothing, issuerTenants},
		{"an audience of an issuer is one tenant's", nothing, audienceOfOne},
		{"a document is stored over its revision only", nothing, revisions},
		{"a new document is not stored over another", nothing, newOverOld},
		{"a tenant sees its own documents only", nothing, tenantDocuments},
		{"a document that could not be read back is refused", nothing, badDocuments},
		{"a document over 350 KB is refused, many below are kept", nothing, documentBound},
		{"one of many changes of a document wins", concurrency, documentRace},
		{"a token is read back as it was kept", nothing, tokenIsReadBack},
		{"an unknown key id has its own error", nothing, unknownToken},
		{"a revocation is seen by every handle", nothing, revocation},
		{"a token does not replace another of its key id", nothing, tokenOfSameKey},
		{"a token without key id or tenant is refused", nothing, badToken},
	}
}

func document(kind, name, body string) registry.Document {
	return registry.Document{Kind: kind, Name: name, Body: json.RawMessage(body)}
}

func documents(t *testing.T, s store, tenant string) []registry.Document {
	t.Helper()
	list, err := s.Documents(t.Context(), tenant)
	must(t, err)
	return list
}

func put(t *testing.T, s store, tenant string, d registry.Document) registry.Document {
	t.Helper()
	rev, err := s.PutDocument(t.Context(), tenant, d)
	must(t, err)
	d.Rev = rev
	return d
}

func wantDocuments(t *testing.T, got []registry.Document, want ...registry.Document) {
	t.Helper()
	// Byte by byte, cmp takes seconds for the largest.
	whole := cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	if diff := cmp.Diff(want, got, whole); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func noDocuments(t *testing.T, _ peer, s store) {
	if got := documents(t, s, newTenant()); len(got) != 0 {
		t.Errorf("got %d documents, want none", len(got))
	}
}

func documentsAreReadBack(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	settings := put(t, s, tenant, document(registry.KindTenant, "", `{}`))
	files := put(t, s, tenant, document(registry.KindServer, "files", `{"name":"files","n":9007199254740993,"f":1.0,"e":1e2}`))
	docs := put(t, s, tenant, document(registry.KindServer, "docs", "{\n\t\"z\": \"<&>\", \"a\":\"Zoë\\u0000\" }"))
	rules := put(t, s, tenant, document(registry.KindRules, "", `[{"action":"mcp.docs.tool.*","decision":"allow"}]`))
	wantDocuments(t, documents(t, s, tenant), rules, docs, files, settings)
}

func documentsOfEveryKind(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	var want []registry.Document
	for _, d := range []struct{ kind, name string }{
		{registry.KindAgent, "Zoë #1|x"}, {registry.KindAgent, "ci"}, {registry.KindAgent, strings.Repeat("é", 256)},
		{registry.KindBudget, "data.read"}, {registry.KindIssuer, "https://login.example.com/"}, {registry.KindPolicy, "ci"},
		{registry.KindRules, ""}, {registry.KindServer, "ci"}, {registry.KindTenant, ""},
	} {
		want = append(want, put(t, s, tenant, document(d.kind, d.name, fmt.Sprintf(`{"of":%q}`, d.kind))))
	}
	wantDocuments(t, documents(t, s, tenant), want...)
	policy := want[5]
	policy.Body = json.RawMessage(`{"of":"policy","source":"package x\n"}`)
	want[5] = put(t, s, tenant, policy)
	wantDocuments(t, documents(t, s, tenant), want...)
}

func issuerTenants(t *testing.T, p peer, s store) {
	ours, theirs := newTenant(), newTenant()
	issuer := "https://login.example.com/" + newTenant()
	find := func(issuer string, want ...string) {
		t.Helper()
		got, err := p.open(t).IssuerTenants(t.Context(), issuer)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tenants of %s (-want +got):\n%s", issuer, diff)
		}
	}
	find(issuer)
	put(t, s, theirs, put(t, s, theirs, document(registry.KindIssuer, issuer, `{}`)))
	put(t, s, ours, document(registry.KindIssuer, issuer, `{}`))
	put(t, s, ours, document(registry.KindAgent, issuer+"/", `{}`))
	find(issuer, slices.Sorted(slices.Values([]string{ours, theirs}))...)
	for _, other := range []string{issuer + "/", issuer[:len(issuer)-1], strings.ToUpper(issuer), "", strings.Repeat(issuer, 40)} {
		find(other)
	}
}

func audienceOfOne(t *testing.T, p peer, s store) {
	ours, theirs := newTenant(), newTenant()
	issuer := "https://login.example.com/" + newTenant()
	of := func(audience string) registry.Document {
		return document(registry.KindIssuer, issuer, fmt.Sprintf(`{"audience":%q}`, audience))
	}
	mine := put(t, s, ours, of("https://relay.example.com"))
	for _, taken := range []string{"https://relay.example.com", "https://relay.example.com/", "https://relay.example.com/v1/mcp", "https://relay.example.com/v1/servers/docs/mcp"} {
		if _, err := p.open(t).PutDocument(t.Context(), theirs, of(taken)); !errors.Is(err, registry.ErrClaimed) {
			t.Errorf("%s: got %v, want %v", taken, err, registry.ErrClaimed)
		}
	}
	wantDocuments(t, documents(t, s, theirs))
	put(t, s, ours, mine)
	put(t, s, theirs, of("https://relay.example.com/umbra"))
	other := of("https://relay.example.com")
	other.Name += "/other"
	put(t, s, newTenant(), other)
}

func revisions(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	first := put(t, s, tenant, document(registry.KindRules, "", `[1]`))
	if first.Rev != 1 {
		t.Errorf("got first revision %d, want 1", first.Rev)
	}
	change := first
	change.Body = json.RawMessage(`[2]`)
	second := put(t, s, tenant, change)
	if second.Rev != 2 {
		t.Errorf("got second revision %d, want 2", second.Rev)
	}
	for _, rev := range []int64{0, 1, 3, -1} {
		stale := change
		stale.Rev, stale.Body = rev, json.RawMessage(`["stale"]`)
		_, err := s.PutDocument(t.Context(), tenant, stale)
		wantErr(t, err, registry.ErrConflict)
	}
	wantDocuments(t, documents(t, s, tenant), second)
}

func newOverOld(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	_, err := s.PutDocument(t.Context(), tenant, registry.Document{Kind: registry.KindServer, Name: "docs", Body: json.RawMessage(`{}`), Rev: 4})
	wantErr(t, err, registry.ErrConflict)
	first := put(t, s, tenant, document(registry.KindServer, "docs", `{}`))
	_, err = s.PutDocument(t.Context(), tenant, document(registry.KindServer, "docs", `{"other":1}`))
	wantErr(t, err, registry.ErrConflict)
	wantDocuments(t, documents(t, s, tenant), first)
}

func tenantDocuments(t *testing.T, _ peer, s store) {
	ours, theirs := newTenant(), newTenant()
	mine := put(t, s, ours, document(registry.KindServer, "docs", `{"of":"ours"}`))
	other := put(t, s, theirs, document(registry.KindServer, "docs", `{"of":"theirs"}`))
	wantDocuments(t, documents(t, s, ours), mine)
	wantDocuments(t, documents(t, s, theirs), other)
	for _, forged := range []string{"", ours + "#", ours[:len(ours)-1], ours + "' OR '1'='1", strings.ToUpper(ours)} {
		if got := documents(t, s, forged); len(got) != 0 {
			t.Errorf("tenant %q: got %d documents, want none", forged, len(got))
		}
	}
}

func badDocuments(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	for name, d := range map[string]registry.Document{
		"unknown kind":     document("grant", "x", `{}`),
		"unknown capitals": document("AGENT", "x", `{}`),
		"agent, no name":   document(registry.KindAgent, "", `{}`),
		"policy, no name":  document(registry.KindPolicy, "", `{}`),
		"tenant with name": document(registry.KindTenant, "x", `{}`),
		"a long name":      document(registry.KindAgent, strings.Repeat("x", 961), `{}`),
		"a broken name":    document(registry.KindAgent, "a\xff", `{}`),
		"a line in a name": document(registry.KindIssuer, "a\nb", `{}`),
		"broken text":      document(registry.KindBudget, "x", "{\"a\":\"\xff\"}"),
		"no kind":          document("", "", `{}`),
		"server, no name":  document(registry.KindServer, "", `{}`),
		"rules with name":  document(registry.KindRules, "x", `[]`),
		"no JSON":          document(registry.KindRules, "", `[`),
		"nothing":          document(registry.KindRules, "", ``),
		"trailing garbage": document(registry.KindRules, "", `[] x`),
	} {
		if _, err := s.PutDocument(t.Context(), tenant, d); err == nil {
			t.Errorf("%s: kept", name)
		}
	}
	if _, err := s.PutDocument(t.Context(), "", document(registry.KindRules, "", `[]`)); err == nil {
		t.Error("a document of nobody: kept")
	}
	wantDocuments(t, documents(t, s, tenant))
}

func documentBound(t *testing.T, p peer, s store) {
	tenant := newTenant()
	body := func(size int) string { return `"` + strings.Repeat("x", size-2) + `"` }
	_, err := s.PutDocument(t.Context(), tenant, document(registry.KindServer, "docs", body(350<<10+1)))
	wantErr(t, err, p.tooLarge)
	// Four of them are more than the 1 MB that DynamoDB gives in one answer.
	var want []registry.Document
	for i := range 4 {
		want = append(want, put(t, s, tenant, document(registry.KindServer, fmt.Sprint("s", i), body(350<<10))))
	}
	wantDocuments(t, documents(t, s, tenant), want...)
}

func documentRace(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	first := put(t, s, tenant, document(registry.KindRules, "", `[]`))
	winners := race(t, racers, registry.ErrConflict, func(i int) error {
		mine := first
		mine.Body = json.RawMessage(fmt.Sprintf("[%d]", i))
		_, err := s.PutDocument(t.Context(), tenant, mine)
		return err
	})
	if got := documents(t, s, tenant); winners != 1 || len(got) != 1 || got[0].Rev != 2 {
		t.Errorf("got %d winners and %+v, want one and revision 2", winners, got)
	}
}

// newToken is a minted token and its record.
func newToken(t *testing.T) (string, token.Record) {
	t.Helper()
	text, keyID, err := token.Mint(rand.Reader)
	must(t, err)
	return text, token.Record{
		KeyID: keyID, Hash: token.Hash(text), Tenant: newTenant(), Subject: "Zoë #1", Kind: call.KindServiceToken,
		Scopes:  []call.Scope{call.ScopeCall, call.ScopeAuditRead},
		Created: now(), Expires: now().Add(time.Hour),
	}
}

func tokenIsReadBack(t *testing.T, _ peer, s store) {
	text, r := newToken(t)
	must(t, s.PutToken(t.Context(), r))
	got, err := s.Token(t.Context(), r.KeyID)
	must(t, err)
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	if !got.Check(text, now(), nil) {
		t.Error("the token does not pass against what was kept of it")
	}
}

func unknownToken(t *testing.T, _ peer, s store) {
	for _, id := range []string{"Nobody00", "", "#", strings.Repeat("x", 3000)} {
		_, err := s.Token(t.Context(), id)
		wantErr(t, err, token.ErrUnknown)
	}
}

func revocation(t *testing.T, p peer, s store) {
	text, r := newToken(t)
	must(t, s.PutToken(t.Context(), r))
	r.RevokedAt = now()
	must(t, s.PutToken(t.Context(), r))
	got, err := p.open(t).Token(t.Context(), r.KeyID)
	must(t, err)
	if got.Check(text, now().Add(time.Second), nil) {
		t.Error("a revoked token passes")
	}
}

func tokenOfSameKey(t *testing.T, p peer, s store) {
	text, r := newToken(t)
	must(t, s.PutToken(t.Context(), r))
	_, other := newToken(t)
	other.KeyID = r.KeyID
	wantErr(t, s.PutToken(t.Context(), other), p.exists)
	got, err := s.Token(t.Context(), r.KeyID)
	must(t, err)
	if !got.Check(text, now(), nil) {
		t.Error("the first token no longer passes")
	}
}

func badToken(t *testing.T, _ peer, s store) {
	_, r := newToken(t)
	noKey, noTenant := r, r
	noKey.KeyID, noTenant.Tenant = "", ""
	if s.PutToken(t.Context(), noKey) == nil || s.PutToken(t.Context(), noTenant) == nil {
		t.Error("kept")
	}
}

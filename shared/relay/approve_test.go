package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/relay"
	"mcprelay/test/kit"
)

// approval is the call of an operator.
func approval() call.Call {
	return call.Call{
		ID: "01JDXAMPLE0000000000000001", At: time.Now(), Face: call.FaceInternal, Server: "up",
		Principal: call.Principal{Tenant: "acme", Subject: "local", Kind: call.KindUser},
	}
}

// approve gives the names of what an operator's approval changed.
func approve(t *testing.T, f *kit.Relay, tools ...string) ([]string, error) {
	t.Helper()
	approvals, err := f.Approve(t.Context(), approval(), tools...)
	var names []string
	for _, a := range approvals {
		names = append(names, a.Tool)
	}
	return names, err
}

// holding is a relay that holds back tools of these descriptors: a server that
// had look alone has them now. The other result is what is held.
func holding(t *testing.T, descriptors string) (*kit.Relay, map[string]relay.Held) {
	t.Helper()
	f := kit.New(t, "", "")
	f.Lists = tools("look")
	f.Warm(t)
	f.Lists = listing(descriptors)
	all := map[string]relay.Held{}
	for _, held := range reread(t, f).Held() {
		all[held.Tool] = held
	}
	return f, all
}

// approvals are the finals of operation approve.
func approvals(f *kit.Relay) (records []audit.Record) {
	for _, r := range f.Recorder.Own() {
		if r.Operation == call.OperationApprove {
			records = append(records, r)
		}
	}
	return records
}

const fresh = `,{"name":"fresh","inputSchema":{}}`

func TestAnApprovalIsOfWhatWasSeen(t *testing.T) {
	f, held := holding(t, changed+fresh)
	look, whole := held["look"].Digest, all(t, f).ToolsDigest()
	other := strings.Repeat("0", 12)
	for name, tools := range map[string][]string{
		"another digest":          {"look@" + other},
		"beside one that is good": {"fresh@" + held["fresh"].Digest, "look@" + other},
		"beside a name":           {"fresh", "look@" + other},
		"one digit off":           {"look@" + look[:11] + string('0'+(look[11]+1)%2)},
		"of another tool":         {"look@" + held["fresh"].Digest},
		"all, another digest":     {"@" + other},
		"all, by a tool's digest": {"@" + look},
	} {
		stale := new(relay.Stale)
		if got, err := approve(t, f, tools...); !errors.As(err, &stale) || got != nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: approved %v, %v", name, got, err)
		}
	}
	if again := reread(t, f).Held(); len(again) != 2 {
		t.Fatalf("held %v, want nothing approved by what is stale", again)
	}
	for name, test := range map[string]struct{ tools, want []string }{
		"by 8 digits":       {[]string{"look@" + look[:8]}, []string{"look"}},
		"by capitals":       {[]string{"look@" + strings.ToUpper(look[:12])}, []string{"look"}},
		"by all digits":     {[]string{"look@" + look, "fresh@" + held["fresh"].Digest}, []string{"fresh", "look"}},
		"all by one digest": {[]string{"@" + whole[:12]}, []string{"fresh", "look"}},
	} {
		f, _ := holding(t, changed+fresh)
		got, err := f.Approve(t.Context(), approval(), test.tools...)
		for i, a := range got {
			if !a.Bound || a.Tool != test.want[i] || a.Digest != held[a.Tool].Digest || a.Before != held[a.Tool].Approved {
				t.Errorf("%s: approved %+v", name, a)
			}
		}
		if err != nil || len(got) != len(test.want) || len(reread(t, f).Held()) != 2-len(got) {
			t.Errorf("%s: approved %v, %v", name, got, err)
		}
	}
}

// all is the catalog that is stored.
func all(t *testing.T, f *kit.Relay) catalog.Catalog {
	t.Helper()
	c, err := f.Catalogs.Catalog(t.Context(), "acme", "up")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWithoutADigestNothingIsBound(t *testing.T) {
	for _, tools := range [][]string{nil, {"look", "fresh"}} {
		f, _ := holding(t, changed+fresh)
		got, err := f.Approve(t.Context(), approval(), tools...)
		if err != nil || len(got) != 2 || got[0].Bound || got[1].Bound {
			t.Errorf("%v: approved %+v, %v", tools, got, err)
		}
	}
}

// A server that names a tool like another one's approval gets none by it.
func TestAToolIsMatchedByItsWholeName(t *testing.T) {
	_, held := holding(t, changed)
	trap := "look@" + held["look"].Digest[:12]
	f, held := holding(t, changed+`,{"name":"`+trap+`","inputSchema":{}},{"name":"me@home","inputSchema":{}}`)
	if got, err := approve(t, f, trap); !refused(err, call.BadParams) || got != nil {
		t.Errorf("approved %v, %v, want it to be asked which is meant", got, err)
	}
	if got, err := approve(t, f, "me@home", trap+"@"+held[trap].Digest[:8]); err != nil || !cmp.Equal(got, []string{trap, "me@home"}) {
		t.Errorf("approved %v, %v", got, err)
	}
}

func TestWhatIsNotKnownOrNotClearApprovesNothing(t *testing.T) {
	f, held := holding(t, changed+fresh)
	for name, test := range map[string]struct {
		tools  []string
		reason call.Reason
	}{
		"no such tool":              {[]string{"look", "nobody"}, call.UnknownTool},
		"no such tool, by a digest": {[]string{"nobody@" + held["look"].Digest}, call.UnknownTool},
		"too few digits":            {[]string{"look@" + held["look"].Digest[:7]}, call.UnknownTool},
		"too many digits":           {[]string{"look@" + held["look"].Digest + "0"}, call.UnknownTool},
		"no hex":                    {[]string{"look@0123456g"}, call.UnknownTool},
		"nothing":                   {[]string{""}, call.UnknownTool},
		"a digest of all and more":  {[]string{"look", "@" + all(t, f).ToolsDigest()}, call.BadParams},
	} {
		if got, err := approve(t, f, test.tools...); !refused(err, test.reason) || got != nil {
			t.Errorf("%s: approved %v, %v, want %s", name, got, err, test.reason)
		}
	}
	c := approval()
	c.Server = strings.Repeat("\xff", 999)
	if _, err := f.Approve(t.Context(), c); !refused(err, call.UnknownServer) {
		t.Errorf("got %v", err)
	}
	for _, r := range approvals(f) {
		if r.Outcome == call.Answered || r.Agent != "local" || r.State != audit.StateFinal || r.Server != "up" && r.Reason != call.UnknownServer || len(r.Server) > 64 {
			t.Errorf("a refusal left %+v", r)
		}
	}
	if n := len(approvals(f)); n != 8 || len(reread(t, f).Held()) != 2 {
		t.Errorf("%d records, want one of each refusal, and nothing approved", n)
	}
}

func refused(err error, reason call.Reason) bool {
	refusal := new(call.Refusal)
	return errors.As(err, &refusal) && refusal.Reason == reason
}

func TestAnApprovalLeavesARecord(t *testing.T) {
	f, held := holding(t, changed+fresh)
	intents, _ := f.Recorder.Written()
	if _, err := approve(t, f, "look"); err != nil {
		t.Fatal(err)
	}
	if n, _ := f.Recorder.Written(); n != intents+1 {
		t.Errorf("%d intents, want one", n-intents)
	}
	records := approvals(f)
	if len(records) != 1 {
		t.Fatalf("got %d records, want 1", len(records))
	}
	got, look := records[0], held["look"]
	want := audit.Begin(approval())
	want.State, want.Time, want.DurationMS = audit.StateFinal, got.Time, got.DurationMS
	want.Operation, want.About, want.Policy = call.OperationApprove, "approve", call.PolicyNotRun
	want.Outcome, want.Reason, want.Stage, want.Effect = call.Answered, call.OK, call.StageFinal, call.ImpactDone
	want.Detail = fmt.Sprintf(`tools %s: "look" from %s to %s`, all(t, f).ToolsDigest(), look.Approved[:12], look.Digest[:12])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if !strings.Contains(f.Log.String(), `"operation":"approve"`) {
		t.Error("the log has no line of it")
	}
	if _, err := approve(t, f, "look"); err != nil || len(approvals(f)) != 1 {
		t.Errorf("%v, %d records, want none of what changes nothing", err, len(approvals(f)))
	}
}

func TestARecordOfManyApprovalsIsBounded(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `,{"name":"%s%02d","inputSchema":{}}`, strings.Repeat("\u202e", 60), i)
	}
	f, _ := holding(t, changed+many.String())
	if got, err := approve(t, f); err != nil || len(got) != 41 {
		t.Fatalf("approved %d, %v", len(got), err)
	}
	detail := approvals(f)[0].Detail
	if len(detail) > audit.MaxDetail || !strings.Contains(detail, `"look" from `) || !strings.HasSuffix(detail, " and 40 more") {
		t.Errorf("%d bytes: %s", len(detail), detail)
	}
}

func TestWhatCannotBeRecordedIsNotApproved(t *testing.T) {
	f, _ := holding(t, changed)
	f.Recorder.FailIntent = true
	if got, err := approve(t, f); !refused(err, call.AuditUnavailable) || got != nil {
		t.Errorf("approved %v, %v", got, err)
	}
	if len(reread(t, f).Held()) != 1 {
		t.Error("it is approved all the same")
	}
}

// refusing is a store that takes no catalog.
type refusing struct {
	*kit.Catalogs
	err error
}

func (r *refusing) PutCatalog(context.Context, string, string, catalog.Catalog) (catalog.Catalog, error) {
	return catalog.Catalog{}, r.err
}

func TestARecordSaysThatAnApprovalWasNotStored(t *testing.T) {
	for err, impact := range map[error]call.Impact{catalog.ErrConflict: call.ImpactNone, errors.New("down"): call.ImpactUnknown} {
		f, _ := holding(t, changed)
		f.Config.Catalogs = &refusing{Catalogs: &f.Catalogs, err: err}
		if got, failed := approve(t, f, "look"); !errors.Is(failed, err) || got != nil {
			t.Errorf("approved %v, %v", got, failed)
		}
		if r := approvals(f); len(r) != 1 || r[0].Reason != call.PolicyUnavailable || r[0].Effect != impact || !strings.HasPrefix(r[0].Detail, "not stored: tools ") {
			t.Errorf("%v: records %+v", err, r)
		}
	}
}

func TestWhatIsHeldIsShownAsATerminalCanShowIt(t *testing.T) {
	for said, want := range map[string]string{
		`"Looks."`:                             "Looks.",
		`"a\u001b[2J\u0007b\u0000"`:            `a\x1b[2J\ab\x00`,
		`"right\u202eleft\u200b \udb40\udc41"`: `right\u202eleft\u200b \U000e0041`,
		`" one\r\n\n   two\t\u2028three "`:     "one two three",
		`"` + strings.Repeat("ü", 1003) + `"`:  strings.Repeat("ü", relay.MaxShown) + "… and 6 bytes more",
		`17`:                                   "",
	} {
		descriptor := `{"name":"look","description":` + said + `,"inputSchema":{"type":"object"}}`
		_, all := holding(t, descriptor)
		held := all["look"]
		if held.Description != want || string(held.Descriptor) != descriptor || held.Digest != catalog.Digest([]byte(descriptor)) || held.Approved == "" || held.Approved == held.Digest {
			t.Errorf("got %+v, want %s", held, want)
		}
	}
	if _, all := holding(t, fresh[1:]); all["fresh"].Approved != "" || all["fresh"].Why != catalog.HeldNew {
		t.Errorf("got %+v", all["fresh"])
	}
}

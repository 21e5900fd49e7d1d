package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
)

// Approval is a tool that an operator approved.
type Approval struct {
	Tool   string // the upstream's own name
	Before string // the digest that was approved before, empty for none
	Digest string // the one that is approved now
	Bound  bool   // the operator said which description was meant
}

// Stale is the error of an approval of what is no longer as it was seen.
type Stale struct {
	Server, Tool string // no Tool: all of the server's
	Seen, Now    string // digests; Seen as it was given
}

// Error is one sentence.
func (s *Stale) Error() string {
	what := "the tools of " + s.Server + " are"
	if s.Tool != "" {
		what = fmt.Sprintf("the description of tool %.128q of %s is", s.Tool, s.Server)
	}
	return fmt.Sprintf("%s not the one of digest %s: it changed since, to %s, and nothing was approved", what, short(s.Seen), cmp.Or(short(s.Now), "none"))
}

// Approve pins tools of c's server as they were last described, for c's caller.
// A tool is named as TOOL, or as TOOL@DIGEST with the first 8 or more digits of
// its digest; @DIGEST alone is all of them by [catalog.Catalog.ToolsDigest], and
// so is no name at all. It gives those that it changed, in the order of their
// names, and leaves a record of them that was begun before: what cannot be
// recorded is not approved. Nothing is approved where the error is not nil: it
// is a [Stale] where a description is another one, a refusal of what is not
// known or not clear, or the store's, [catalog.ErrConflict] where somebody else
// replaced the catalog meanwhile.
func (r *Relay) Approve(ctx context.Context, c call.Call, tools ...string) ([]Approval, error) {
	c.Operation, c.Tool, c.Arguments = call.OperationApprove, "", nil
	kept, err := r.approvable(ctx, c)
	if err != nil {
		return nil, r.unapproved(ctx, c, err)
	}
	approvals, err := choose(kept, c.Server, tools)
	if err != nil {
		return nil, r.unapproved(ctx, c, err)
	}
	if len(approvals) == 0 {
		return nil, nil
	}
	record := audit.Begin(c)
	record.Detail = told(kept, approvals)
	if err := r.approve(ctx, record, kept, approvals); err != nil {
		return nil, err
	}
	r.shelf.drop(c.Principal.Tenant, c.Server)
	return approvals, nil
}

// approvable is what is kept of a registered server.
func (r *Relay) approvable(ctx context.Context, c call.Call) (catalog.Catalog, error) {
	tenant, err := r.Registry.Tenant(ctx, c.Principal.Tenant)
	if err != nil {
		return catalog.Catalog{}, err
	}
	if _, ok := tenant.Servers[c.Server]; !ok {
		return catalog.Catalog{}, call.Refuse(call.UnknownServer, "no server called %.64q is registered", c.Server)
	}
	return r.Catalogs.Catalog(ctx, c.Principal.Tenant, c.Server)
}

// unapproved records that an approval was refused. What a store could not do
// leaves none: nothing was decided.
func (r *Relay) unapproved(ctx context.Context, c call.Call, err error) error {
	refusal := new(call.Refusal)
	if stale := new(Stale); errors.As(err, &stale) {
		refusal = &call.Refusal{Reason: call.ToolHeld, Detail: stale.Error()}
	} else if !errors.As(err, &refusal) {
		return err
	}
	if refusal.Reason == call.UnknownServer {
		c.Server = "" // it may be any text, and the detail has it
	}
	r.Refuse(ctx, c, refusal)
	return err
}

// approve stores the pins between the two halves of their record. The store
// may have them though it gave an error, unless that says that it has others.
func (r *Relay) approve(ctx context.Context, record audit.Record, c catalog.Catalog, approvals []Approval) error {
	bounded, cancel := detached(ctx)
	defer cancel()
	if err := r.Recorder.Intent(bounded, record); err != nil {
		return &call.Refusal{Reason: call.AuditUnavailable, Detail: "the approval could not be recorded", Err: err}
	}
	names := make([]string, len(approvals))
	for i, a := range approvals {
		names[i] = a.Tool
	}
	_, err := r.Catalogs.PutCatalog(ctx, record.Tenant, record.Server, c.Approved(names...))
	record.Answer(call.OK)
	if err != nil {
		refusal := &call.Refusal{Reason: call.PolicyUnavailable, Detail: "not stored: " + record.Detail, Impact: call.ImpactUnknown}
		if errors.Is(err, catalog.ErrConflict) {
			refusal.Impact = call.ImpactNone
		}
		record.Refuse(refusal)
	}
	record.Finish(r.Now())
	r.write(ctx, record)
	return err
}

// choose finds what an approval of these names changes.
func choose(c catalog.Catalog, server string, names []string) ([]Approval, error) {
	bound := make(map[string]bool, len(names))
	for _, name := range names {
		tool, digest, err := named(c, server, name)
		switch {
		case err != nil:
			return nil, err
		case tool.Name != "":
			bound[tool.Name] = bound[tool.Name] || digest != ""
		case len(names) > 1:
			return nil, call.Refuse(call.BadParams, "a digest of all tools stands alone")
		default:
			return held(c, func(string) (bool, bool) { return true, true }), nil
		}
	}
	return held(c, func(name string) (bool, bool) {
		digest, wanted := bound[name]
		return wanted || len(names) == 0, digest
	}), nil
}

// held are the approvals of those held tools that are wanted.
func held(c catalog.Catalog, wanted func(name string) (wanted, bound bool)) []Approval {
	var approvals []Approval
	for _, tool := range c.Tools {
		if _, is := c.Held(tool.Name); !is {
			continue
		}
		if want, bound := wanted(tool.Name); want {
			approvals = append(approvals, Approval{Tool: tool.Name, Before: c.Pins[tool.Name], Digest: tool.Digest, Bound: bound})
		}
	}
	slices.SortFunc(approvals, func(a, b Approval) int { return cmp.Compare(a.Tool, b.Tool) })
	return approvals
}

// named finds the tool of TOOL or TOOL@DIGEST; none for @DIGEST. Whoever copies
// TOOL@DIGEST must not approve a tool that the server has since given this whole
// name, so such a tool is named with a digest of its own behind it.
func named(c catalog.Catalog, server, arg string) (tool catalog.Tool, digest string, err error) {
	name, digest := seen(arg)
	tool, whole := c.Tool(arg)
	switch {
	case whole && digest == "":
		return tool, "", nil
	case whole:
		return tool, "", call.Refuse(call.BadParams, "the name of tool %.128q ends like a digest: it is approved with its own behind it", arg)
	case digest == "":
		return tool, "", call.Refuse(call.UnknownTool, "server %s was not found to offer a tool called %.128q", server, arg)
	}
	now := c.ToolsDigest()
	if name != "" {
		known := false
		if tool, known = c.Tool(name); !known {
			return tool, "", call.Refuse(call.UnknownTool, "server %s was not found to offer a tool called %.128q", server, name)
		}
		now = tool.Digest
	}
	if !strings.HasPrefix(now, digest) {
		return tool, "", &Stale{Server: server, Tool: name, Seen: digest, Now: now}
	}
	return tool, digest, nil
}

const (
	// minSeen and maxSeen bound the digits of a digest that an operator gives.
	minSeen, maxSeen = 8, 64
	// shortDigest is how many of them are shown: enough to tell two apart by eye.
	shortDigest = 12
)

// seen splits TOOL@DIGEST; without a digest it gives none.
func seen(arg string) (name, digest string) {
	at := strings.LastIndexByte(arg, '@')
	if at < 0 {
		return arg, ""
	}
	digest = strings.ToLower(arg[at+1:])
	if len(digest) < minSeen || len(digest) > maxSeen || strings.Trim(digest, "0123456789abcdef") != "" {
		return arg, ""
	}
	return arg[:at], digest
}

func short(digest string) string { return digest[:min(len(digest), shortDigest)] }

// told says in a record's detail what is approved: the digest of all tools, and
// of each one its digests before and now, as many as there is room for.
func told(c catalog.Catalog, approvals []Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tools %s:", c.ToolsDigest())
	for i, a := range approvals {
		one := fmt.Sprintf(" %.128q from %s to %s", a.Tool, cmp.Or(short(a.Before), "none"), short(a.Digest))
		more := fmt.Sprintf(" and %d more", len(approvals)-i)
		if b.Len()+len(one)+len(more) > maxTold {
			b.WriteString(more)
			break
		}
		b.WriteString(one)
	}
	return b.String()
}

// maxTold leaves room in a record's detail for what went wrong.
const maxTold = audit.MaxDetail - 16

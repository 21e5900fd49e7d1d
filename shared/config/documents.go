package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcprelay/shared/registry"
)

// maxItem bounds a document, in bytes. A store keeps it as one item of at most
// 350 KB, beside its keys.
const maxItem = 300_000

// Build makes a tenant of what a store keeps of it. The settings that no
// document makes are the defaults; refusals are not explained unless a
// document says so. Its error is an [*Error].
func Build(tenant string, docs []registry.Document, o Options) (*registry.Tenant, error) {
	r := &report{}
	p := parts{report: r, tenant: tenant, options: o}
	if err := registry.TenantID(tenant); err != nil {
		r.add("tenant", "", "%v", err)
	}
	seen := make(map[[2]string]bool)
	var rev int64
	for _, d := range docs {
		key := [2]string{d.Kind, d.Name}
		if seen[key] {
			r.add(label(d), "", "it is there twice")
			continue
		}
		seen[key] = true
		rev = max(rev, d.Rev)
		p.add(d)
	}
	t, _ := p.build()
	t.Rev = rev
	if err := r.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// add takes a document into the parts. One of a kind that this version does
// not know is a problem: it may restrict what the others allow.
func (p *parts) add(d registry.Document) {
	n, ok := parse(p.report, label(d), d.Body)
	if !ok {
		return
	}
	if named, known := registry.Named(d.Kind); !known || named != (d.Name != "") {
		p.report.add(label(d), "", "documents of this kind are not supported by this version")
		return
	}
	switch d.Kind {
	case registry.KindServer:
		p.servers = append(p.servers, n.of(d, "name"))
	case registry.KindAgent:
		p.agents = append(p.agents, n.of(d, "subject"))
	case registry.KindPolicy:
		p.policies = append(p.policies, n.of(d, "name"))
	case registry.KindBudget:
		p.budgets = append(p.budgets, member{d.Name, n})
	case registry.KindIssuer:
		p.issuers = append(p.issuers, n.of(d, "issuer"))
	case registry.KindRules:
		p.rules = n
	case registry.KindTenant:
		p.settings = n.object(settingKeys)
	}
}

// of wants the name that a document is kept under in its field.
func (n node) of(d registry.Document, field string) node {
	if at := (object{n}).get(field); at.kind == '"' && at.text() != d.Name {
		at.fail("the document is that of %s %.32q", d.Kind, d.Name)
	}
	return n
}

// label names a document in errors.
func label(d registry.Document) string {
	if d.Name == "" {
		return d.Kind + " document"
	}
	return d.Kind + " document " + d.Name
}

// Documents gives the file as documents without revisions, for seeding a
// store. Build makes the same tenant of them, but that refusals are explained
// to agents only where the file says so itself: the default of a local file
// does not travel.
func (c *Config) Documents() ([]registry.Document, error) {
	if c.documents == nil {
		return nil, errors.New("the configuration was not read from a file")
	}
	docs := slices.Clone(c.documents)
	for i := range docs {
		docs[i].Body = slices.Clone(docs[i].Body)
	}
	return docs, nil
}

// documents writes the parts of a file as a store keeps them.
func (p parts) documents(t *registry.Tenant, servers []*registry.Server) []registry.Document {
	docs := []registry.Document{{Kind: registry.KindTenant, Body: settingsOf(p.settings)}}
	if p.rules.present() {
		docs = append(docs, registry.Document{Kind: registry.KindRules, Body: p.rules.item()})
	}
	for i, s := range servers {
		docs = append(docs, registry.Document{Kind: registry.KindServer, Name: s.Name, Body: p.servers[i].item()})
	}
	for _, n := range p.agents {
		docs = append(docs, registry.Document{Kind: registry.KindAgent, Name: object{n}.get("subject").optional(), Body: n.item()})
	}
	for _, n := range p.policies {
		docs = append(docs, registry.Document{Kind: registry.KindPolicy, Name: object{n}.get("name").optional(), Body: policyItem(n, t.Policies)})
	}
	for _, m := range p.budgets {
		docs = append(docs, registry.Document{Kind: registry.KindBudget, Name: m.name, Body: m.value.item()})
	}
	for _, n := range p.issuers {
		docs = append(docs, registry.Document{Kind: registry.KindIssuer, Name: object{n}.get("issuer").optional(), Body: n.item()})
	}
	return docs
}

// item is the value without blanks, small enough for one item of a store.
func (n node) item() json.RawMessage { return n.bounded(n.compact()) }

// bounded refuses the text of n where no store would keep it.
func (n node) bounded(body []byte) json.RawMessage {
	if len(body) > maxItem {
		n.fail("it is larger than %d bytes, the most that a store keeps of it", maxItem)
	}
	return json.RawMessage(body)
}

// settingsOf is the object of the settings among a file's members.
func settingsOf(file object) json.RawMessage {
	body := []byte{'{'}
	for _, m := range file.members {
		if !slices.Contains(strings.Fields(settingKeys), m.name) {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, "%q:%s", m.name, m.value.compact())
	}
	return append(body, '}')
}

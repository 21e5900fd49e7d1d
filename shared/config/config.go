// Package config turns a config file, or the documents of a store, into a
// checked registration.
//
// It promises that nothing in a file is ignored: every field is known, read
// and checked, or is an error that names the file, the field and the reason,
// several of them at once where they do not depend on each other. It refuses
// files that others can change, fields that would have no effect in this
// version, numbers over their hard caps, and secrets where only their names
// belong. No error repeats a value, which might be a secret in a wrong place,
// but for the names of servers, tools and what stores name documents by,
// networks, the words of rules and auth, and what the compiler says of Rego. It reads no environment variable.
package config

import (
	"os"
	"path/filepath"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// Options says what a registration may hold.
type Options struct {
	Loopback  bool // endpoints spelled as loopback are legal, http included
	Processes bool // servers that are child processes are legal: a local relay
	// Before is an earlier registration of the tenant, nil for none. Where its
	// policies are the same, they are not compiled again.
	Before *registry.Tenant
}

// Config is a config file that was read and found usable.
type Config struct {
	Tenant  *registry.Tenant
	Callers []Caller
	// Warnings say what has no effect, or another one than it seems to have,
	// as in "<file>: <field>: <reason>"; at most 20.
	Warnings []string

	documents []registry.Document
}

// Caller is a caller that the file names. Its token is in the environment.
type Caller struct {
	Subject  string
	Kind     call.Kind
	Scopes   []call.Scope
	TokenEnv string
}

const fileKeys = "tenant servers rules agents policies budgets issuers callers " + settingKeys

// Load reads the config file at path. A symbolic link, anything but a regular
// file, a file that group or others can write or that neither this process's
// user nor root owns, and one over [MaxFile] are refused. Its error is an [*Error]: "<file>: <field>: <reason>", one a line.
func Load(path string, o Options) (*Config, error) {
	text, err := readFile(path, os.Geteuid())
	if err != nil {
		return nil, &Error{[]Problem{{File: path, Reason: err.Error()}}}
	}
	below := func(file string) ([]byte, error) {
		return readBounded(filepath.Join(filepath.Dir(path), file), os.Geteuid(), policy.MaxSource)
	}
	return read(path, text, o, below)
}

// Parse reads the text of a config file; name stands for it in errors. Its
// policies have their source in it.
func Parse(name string, text []byte, o Options) (*Config, error) {
	return read(name, text, o, nil)
}

// read reads the text of a config file, and what it names below its folder.
func read(name string, text []byte, o Options, below func(file string) ([]byte, error)) (*Config, error) {
	r := &report{}
	root, ok := parse(r, name, text)
	if !ok {
		return nil, r.err()
	}
	file := root.object(fileKeys)
	p := parts{report: r, options: o, rules: file.get("rules"), settings: file, explain: true, read: below}
	if file.present() {
		p.tenant = file.get("tenant").name(registry.TenantID)
		p.servers = file.get("servers").list()
		p.agents, p.policies = file.get("agents").list(), file.get("policies").list()
		p.budgets, p.issuers = file.get("budgets").entries(), file.get("issuers").list()
	}
	t, servers := p.build()
	c := &Config{Tenant: t, Callers: readCallers(file.get("callers"), servers)}
	c.documents = p.documents(t, servers)
	if err := r.err(); err != nil {
		return nil, err
	}
	c.Warnings = r.warnings
	return c, nil
}

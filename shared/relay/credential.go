package relay

import (
	"context"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/secret"
)

// credential is what the secret station found for a server.
type credential struct {
	binding  secret.Binding
	identity *secret.Identity // nil: the guard's own authorities, no client certificate
	uses     []secret.Use
}

type readSecret func(context.Context, secret.Key, secret.Source) (secret.Value, *call.Refusal)

// secret: with what?
func (r *Relay) secret(ctx context.Context, p plan, t *trail) (credential, *call.Refusal) {
	return r.bind(ctx, p, t, r.Secrets.Get)
}

// bind reads a server's secrets and makes of them what the exchange needs.
// Every value is masked from here on.
func (r *Relay) bind(ctx context.Context, p plan, t *trail, read readSecret) (credential, *call.Refusal) {
	refs := p.server.References()
	if len(refs) == 0 {
		return credential{}, nil
	}
	values := make(map[string]secret.Value, len(refs))
	var uses []secret.Use
	for _, ref := range refs {
		key := secret.Key{Tenant: p.tenant.ID, Server: p.server.Name, Ref: ref}
		value, refusal := read(ctx, key, p.server.Secrets[ref])
		if refusal != nil {
			return credential{}, refusal
		}
		values[ref] = value
		uses = append(uses, secret.Use{Ref: ref, Version: value.Version()})
	}
	c, masked, refusal := r.shape(p, values)
	if refusal != nil {
		return credential{}, refusal
	}
	c.uses = uses
	t.values = append(t.values, masked...)
	t.masker = r.maskers.For(t.values...)
	for _, use := range uses {
		t.record.Secrets = append(t.record.Secrets, audit.SecretUse{Ref: use.Ref, Version: use.Version})
	}
	return c, nil
}

// shape puts the values where they belong, and gives those that must be masked.
func (r *Relay) shape(p plan, values map[string]secret.Value) (c credential, masked []secret.Value, refusal *call.Refusal) {
	if c.binding, refusal = secret.Bind(p.server.Auth, values); refusal != nil {
		return c, nil, refusal
	}
	masked = c.binding.Values()
	if p.server.TLS.IsZero() {
		return c, masked, nil
	}
	identity, keys, refusal := r.identities.Bind(p.server.TLS, values)
	c.identity = identity
	return c, append(masked, keys...), refusal
}

// rules are what the guard is told of a server.
func (p plan) rules(c credential) egress.Rules {
	rules := egress.Rules{Networks: p.server.Networks, IPv6: p.server.IPv6}
	if c.identity != nil {
		rules.TLS = &egress.TLS{Roots: c.identity.Roots, Certificates: c.identity.Certificates, Digest: c.identity.Digest}
	}
	return rules
}

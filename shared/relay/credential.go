package relay

import (
	"context"
	"slices"

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
	if len(p.refs) == 0 {
		return credential{}, nil
	}
	values := make([]secret.Value, len(p.refs))
	uses := make([]secret.Use, len(p.refs))
	for i, ref := range p.refs {
		key := secret.Key{Tenant: p.tenant.ID, Server: p.server.Name, Ref: ref}
		value, refusal := read(ctx, key, p.server.Secrets[ref])
		if refusal != nil {
			return credential{}, refusal
		}
		values[i], uses[i] = value, secret.Use{Ref: ref, Version: value.Version()}
	}
	b, known := r.memory.credential(p, uses)
	if !known {
		var refusal *call.Refusal
		if b, refusal = r.shape(p, values, uses); refusal != nil {
			return credential{}, refusal
		}
	}
	if t.masker = b.masker; len(t.values) > 0 { // of a version before
		t.masker = r.maskers.For(slices.Concat(t.values, b.masked)...)
	}
	t.values = append(t.values, b.masked...)
	t.record.Secrets = append(t.record.Secrets, b.uses...)
	return b.credential, nil
}

// shape puts the values where they belong. What has an identity is not
// remembered: its certificate may expire between two calls.
func (r *Relay) shape(p plan, found []secret.Value, uses []secret.Use) (b bound, refusal *call.Refusal) {
	b.credential.uses = uses
	values := make(map[string]secret.Value, len(found))
	for i, use := range uses {
		values[use.Ref] = found[i]
		b.uses = append(b.uses, audit.SecretUse{Ref: use.Ref, Version: use.Version})
	}
	if b.credential.binding, refusal = secret.Bind(p.server.Auth, values); refusal != nil {
		return b, refusal
	}
	b.masked = b.credential.binding.Values()
	if !p.server.TLS.IsZero() {
		// Its private key is not masked: no server is ever sent it.
		identity, _, refusal := r.identities.Bind(p.server.TLS, values)
		if refusal != nil {
			return b, refusal
		}
		b.credential.identity = identity
	}
	if b.masker = r.maskers.For(b.masked...); p.server.TLS.IsZero() {
		r.memory.bind(p, b)
	}
	return b, nil
}

// rules are what the guard is told of a server.
func (p plan) rules(c credential) egress.Rules {
	rules := egress.Rules{Networks: p.server.Networks, IPv6: p.server.IPv6}
	if c.identity != nil {
		rules.TLS = &egress.TLS{Roots: c.identity.Roots, Certificates: c.identity.Certificates, Digest: c.identity.Digest}
	}
	return rules
}

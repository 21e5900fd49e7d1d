package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
	"mcprelay/shared/store/local"
	"mcprelay/shared/token"
)

const (
	// tokenLife is how long a token lasts where nobody says otherwise: a quarter,
	// so that one that was forgotten ends.
	tokenLife = 90 * 24 * time.Hour
	// leastLife bounds it below.
	leastLife = time.Minute
)

func tokensCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "tokens",
		Short: "Make, list and revoke service tokens of the local store",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(tokenCreateCommand(), tokenListCommand(), tokenRevokeCommand())
	return command
}

// newToken is what a token is made for.
type newToken struct {
	subject string
	kind    string
	scopes  []string
	expires string
	another bool
}

func tokenCreateCommand() *cobra.Command {
	var f flags
	var n newToken
	command := &cobra.Command{
		Use:   "create SUBJECT --config FILE",
		Short: "Make a token for an agent and print it, once",
		Long: "Make a token for an agent and print it. Only its hash is kept, so it is never shown again.\n" +
			"An agent has one token; --another makes a second one, to replace the first without a gap.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n.subject = args[0]
			return withTokens(f, func(t tokens) error { return t.create(c.Context(), c.OutOrStdout(), n) })
		},
	}
	f.add(command)
	command.Flags().StringVar(&n.kind, "kind", string(call.KindServiceToken), "the `kind` of caller: service_token, user or other")
	command.Flags().StringSliceVar(&n.scopes, "scope", []string{string(call.ScopeCall)}, "a `scope`: call, audit:read, admin:read, admin:write; several with commas")
	command.Flags().StringVar(&n.expires, "expires", tokenLife.String(), "how long it lasts, such as 720h, or never")
	command.Flags().BoolVar(&n.another, "another", false, "make one although the agent has a token")
	return command
}

func tokenListCommand() *cobra.Command {
	var f flags
	var asJSON bool
	command := &cobra.Command{
		Use:   "list --config FILE",
		Short: "List the tokens, without what is secret",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withTokens(f, func(t tokens) error { return t.list(c.Context(), c.OutOrStdout(), asJSON) })
		},
	}
	f.add(command)
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return command
}

func tokenRevokeCommand() *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "revoke KEY-ID --config FILE",
		Short: "Revoke a token for good",
		Long:  "Revoke a token for good. A relay that runs over the same folder refuses it within 15 seconds.",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withTokens(f, func(t tokens) error { return t.revoke(c.Context(), c.OutOrStdout(), args[0]) })
		},
	}
	f.add(command)
	return command
}

// tokens are those of one tenant in the local store.
type tokens struct {
	store   *local.Store
	peppers *token.Peppers
	tenant  string
	now     time.Time
}

// withTokens does something to the tokens of the config's tenant.
func withTokens(f flags, do func(tokens) error) (err error) {
	c, err := loadConfig(f)
	if err != nil {
		return err
	}
	store, err := local.Open(f.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	key, err := local.SealKey(f.data)
	if err != nil {
		return err
	}
	peppers, err := token.NewPeppers(key)
	if err != nil {
		return err
	}
	return do(tokens{store: store, peppers: peppers, tenant: c.Tenant.ID, now: time.Now().UTC().Truncate(time.Second)})
}

func (t tokens) create(ctx context.Context, out io.Writer, n newToken) error {
	record, err := n.record(t.now)
	if err != nil {
		return &usageError{err}
	}
	record.Tenant = t.tenant
	if !n.another {
		if err := t.unused(ctx, record); err != nil {
			return err
		}
	}
	minted, keyID, err := token.Mint(rand.Reader)
	if err != nil {
		return err
	}
	record.KeyID = keyID
	if err := t.peppers.Seal(&record, minted); err != nil {
		return err
	}
	if err := t.store.PutToken(ctx, record); err != nil {
		return fmt.Errorf("keeping the token: %w", err)
	}
	fmt.Fprintf(out, "relay: key id %s, subject %s, expires %s\nrelay: the token, which is not shown again:\n%s\n",
		record.KeyID, plain(record.Subject), instant(record.Expires, "never"), minted)
	return nil
}

// record checks what is asked for.
func (n newToken) record(now time.Time) (token.Record, error) {
	r := token.Record{Subject: n.subject, Kind: call.Kind(n.kind), Created: now}
	if err := registry.Subject(n.subject); err != nil {
		return r, fmt.Errorf("the subject: %w", err)
	}
	if !r.Kind.Valid() || r.Kind == call.KindTrustedIssuer {
		return r, errors.New("--kind is not service_token, user or other")
	}
	for _, word := range n.scopes {
		s := call.Scope(word)
		if !s.Valid() {
			return r, errors.New("--scope is not call, audit:read, admin:read or admin:write")
		}
		if !slices.Contains(r.Scopes, s) {
			r.Scopes = append(r.Scopes, s)
		}
	}
	if len(r.Scopes) == 0 {
		return r, errors.New("--scope is empty: the token could do nothing")
	}
	if n.expires == "never" {
		return r, nil
	}
	life, err := time.ParseDuration(n.expires)
	if err != nil || life < leastLife {
		return r, fmt.Errorf("--expires is not a duration of at least %v, such as 720h, or never", leastLife)
	}
	r.Expires = now.Add(life)
	return r, nil
}

// unused refuses a second token of one agent.
func (t tokens) unused(ctx context.Context, r token.Record) error {
	all, err := t.store.Tokens(ctx, t.tenant)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Subject == r.Subject && other.Kind == r.Kind && other.Alive(t.now) {
			return fmt.Errorf("%s has the token %s: revoke it first, or say --another", plain(r.Subject), other.KeyID)
		}
	}
	return nil
}

func (t tokens) revoke(ctx context.Context, out io.Writer, keyID string) error {
	record, err := t.store.Token(ctx, keyID)
	if errors.Is(err, token.ErrUnknown) || err == nil && record.Tenant != t.tenant {
		return errors.New("there is no token of this key id")
	}
	if err != nil {
		return err
	}
	if record.RevokedAt.IsZero() {
		record.RevokedAt = t.now
		if err := t.store.PutToken(ctx, record); err != nil {
			return fmt.Errorf("keeping the revocation: %w", err)
		}
	}
	fmt.Fprintf(out, "relay: token %s of %s is revoked\n", keyID, plain(record.Subject))
	return nil
}

// tokenLine is a token as an operator sees it.
type tokenLine struct {
	KeyID   string       `json:"key_id"`
	Subject string       `json:"subject"`
	Kind    call.Kind    `json:"kind"`
	Scopes  []call.Scope `json:"scopes"`
	Status  string       `json:"status"` // live, expired or revoked
	Created time.Time    `json:"created,omitzero"`
	Expires time.Time    `json:"expires,omitzero"`
	Revoked time.Time    `json:"revoked_at,omitzero"`
}

func (t tokens) line(r token.Record) tokenLine {
	status := "live"
	switch {
	case !r.RevokedAt.IsZero():
		status = "revoked"
	case !r.Alive(t.now):
		status = "expired"
	}
	return tokenLine{r.KeyID, r.Subject, r.Kind, r.Scopes, status, r.Created, r.Expires, r.RevokedAt}
}

func (t tokens) list(ctx context.Context, w io.Writer, asJSON bool) error {
	all, err := t.store.Tokens(ctx, t.tenant)
	if err != nil {
		return err
	}
	encoder, table := json.NewEncoder(w), tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "KEY ID\tSUBJECT\tKIND\tSCOPES\tSTATUS\tCREATED\tEXPIRES")
	}
	for _, r := range all {
		l := t.line(r)
		if asJSON {
			if err := encoder.Encode(l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.KeyID, plain(l.Subject), l.Kind, words(l.Scopes), l.Status, instant(l.Created, "-"), instant(l.Expires, "never"))
	}
	return table.Flush()
}

func words(scopes []call.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ",")
}

func instant(at time.Time, none string) string {
	if at.IsZero() {
		return none
	}
	return at.UTC().Format(time.RFC3339)
}

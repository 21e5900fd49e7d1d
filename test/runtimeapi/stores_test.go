package runtimeapi_test

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/token"
	"mcprelay/test/peers"
	"mcprelay/test/registration"
)

// The caller of every fixture. The token is of no use anywhere else.
const (
	tenant       = "acme"
	callerToken  = "mrt_0bCnOzMxY9k7iJuV6T4fGrEpQ1cDaBmNyLwX8j0OWaHY"
	storedSecret = "stored-secret-of-keyed"
	secretPrefix = "mcprelay/" // as in the template
	sealName     = secretPrefix + "seal"
	sealSecret   = "0123456789-of-no-use-anywhere-else-0123456789"
)

// registered is what the stores begin with: each server is there for one reason.
const registered = `{
  "tenant": "acme",
  "max_servers": 64,
  "budgets": {"tries": {"per_day": 2}},
  "servers": [
    {"name": "docs", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"},
      "effects": {"test_simple_text": "read"}}},
    {"name": "exact", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"},
      "allowed_tools": ["test_simple_text"], "unexpected_tools": "hide", "effects": {"test_simple_text": "read"}}},
    {"name": "old", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://legacy.example.com/mcp", "auth": {"type": "none"}}},
    {"name": "keyed", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://keyed.example.com/mcp", "auth": {"type": "bearer", "token_ref": "keyed-token"}},
      "secrets": {"keyed-token": "mcprelay/acme/keyed"}},
    {"name": "keyless", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://keyed.example.com/mcp", "auth": {"type": "bearer", "token_ref": "keyless-token"}},
      "secrets": {"keyless-token": "mcprelay/acme/nobody-stored-it"}},
    {"name": "foreign", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://keyed.example.com/mcp", "auth": {"type": "bearer", "token_ref": "foreign-token"}},
      "secrets": {"foreign-token": "mcprelay/umbra/keyed"}},
    {"name": "broken", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://keyed.example.com/mcp", "auth": {"type": "bearer", "token_ref": "broken-token"}},
      "secrets": {"broken-token": "mcprelay/acme/broken"}},
    {"name": "slow", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://slow.example.com/mcp", "auth": {"type": "none"}}},
    {"name": "turned", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"}, "require_turn": "all"}},
    {"name": "metered", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"},
      "effects": {"test_simple_text": "read"}, "budget_classes": {"test_simple_text": "tries"}, "limits": {"test_simple_text": {"max_arguments_bytes": 64}}}},
    {"name": "loop", "config": {"endpoint": "https://loop.example.com/mcp", "auth": {"type": "none"}}},
    {"name": "ruleless", "allowed_networks": ["10.77.0.0/24"], "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"}}}
  ],
  "rules": [
    {"action": "mcp.docs.*", "decision": "allow"},
    {"action": "mcp.exact.*", "decision": "allow"},
    {"action": "mcp.old.*", "decision": "allow"},
    {"action": "mcp.keyed.*", "decision": "allow"},
    {"action": "mcp.keyless.*", "decision": "allow"},
    {"action": "mcp.foreign.*", "decision": "allow"},
    {"action": "mcp.broken.*", "decision": "allow"},
    {"action": "mcp.slow.*", "decision": "allow"},
    {"action": "mcp.turned.*", "decision": "allow"},
    {"action": "mcp.metered.*", "decision": "allow"},
    {"action": "mcp.loop.*", "decision": "allow"},
    {"action": "mcp.ruleless.host.*", "decision": "allow"},
    {"action": "secret.use.*", "decision": "allow"}
  ]
}`

// stores is the emulated AWS, seeded with the registration, the caller's token
// and the secrets.
type stores struct {
	*dynamo.Store
	sdk            aws.Config
	dynalite, moto string
	db             *dynamodb.Client
	tables         dynamo.Config
}

// table is a table that was created.
type table struct{ name, stream string }

// connect makes a client of moto's DynamoDB.
func (s *stores) connect(t *testing.T) {
	t.Helper()
	var err error
	s.sdk, err = config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
	if err != nil {
		t.Fatal(err)
	}
	s.moto = peers.Moto(t)
	s.db = dynamodb.NewFromConfig(s.sdk, func(o *dynamodb.Options) { o.BaseEndpoint = &s.moto })
}

// create makes one table of the store's description; its name is its own.
func (s *stores) create(t *testing.T, kind string) table {
	t.Helper()
	for _, described := range dynamo.Schema() {
		if described.Name != kind {
			continue
		}
		name := tableName(kind) + "-" + strings.ToLower(crand.Text())
		made, err := s.db.CreateTable(t.Context(), described.CreateTable(name))
		if err != nil {
			t.Fatalf("creating the table %s: %v", kind, err)
		}
		return table{name, aws.ToString(made.TableDescription.LatestStreamArn)}
	}
	t.Fatalf("the store describes no table %s", kind)
	return table{}
}

// newStores makes a store over dynalite's DynamoDB and moto's Secrets Manager.
func newStores(t *testing.T) *stores {
	t.Helper()
	s := &stores{dynalite: peers.Dynalite(t)}
	s.connect(t)
	s.db = dynamodb.NewFromConfig(s.sdk, func(o *dynamodb.Options) { o.BaseEndpoint = &s.dynalite })
	secrets := secretsmanager.NewFromConfig(s.sdk, func(o *secretsmanager.Options) { o.BaseEndpoint = &s.moto })
	for name, value := range map[string]string{"acme/keyed": storedSecret, "acme/broken": "first-line\nsecond-line", "umbra/keyed": storedSecret, "seal": sealSecret} {
		in := &secretsmanager.CreateSecretInput{Name: aws.String(secretPrefix + name), SecretString: aws.String(value)}
		if _, err := secrets.CreateSecret(t.Context(), in); err != nil {
			t.Fatalf("storing the secret %s: %v", name, err)
		}
	}
	s.tables = dynamo.Config{
		DynamoDB: s.db, Secrets: secrets, Registry: s.create(t, dynamo.Registry).name,
		State: s.create(t, dynamo.State).name, Audit: s.create(t, dynamo.Audit).name, SecretPrefix: secretPrefix,
	}
	s.Store = dynamo.New(s.tables)
	s.seed(t)
	return s
}

func tableName(table string) string { return "relay-" + table }

func (s *stores) seed(t *testing.T) {
	t.Helper()
	if err := registration.Put(t.Context(), s, []byte(registered)); err != nil {
		t.Fatal(err)
	}
	keyID, err := token.Parse(callerToken)
	if err != nil {
		t.Fatal(err)
	}
	record := token.Record{
		KeyID: keyID, Hash: token.Hash(callerToken), Tenant: tenant, Subject: "ci",
		Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall, call.ScopeAdminRead}, Created: time.Now().UTC(),
	}
	if err := s.PutToken(t.Context(), record); err != nil {
		t.Fatal(err)
	}
}

// env points a bootstrap at the emulators, as AWS_ENDPOINT_URL_* of the SDK do.
func (s *stores) env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_ENDPOINT_URL_DYNAMODB=" + s.dynalite, "AWS_ENDPOINT_URL_SECRETS_MANAGER=" + s.moto,
		"RELAY_REGISTRY_TABLE=" + s.tables.Registry, "RELAY_STATE_TABLE=" + s.tables.State, "RELAY_AUDIT_TABLE=" + s.tables.Audit, "RELAY_SECRET_PREFIX=" + s.tables.SecretPrefix,
	}
}

// records are the newest records of the tenant, newest first.
func (s *stores) records(t *testing.T) []audit.Record {
	t.Helper()
	records, _, err := s.Audit(context.WithoutCancel(t.Context()), audit.Filter{
		Tenant: tenant, Limit: audit.MaxPage, Since: time.Now().Add(-time.Hour), // each day is 8 queries
	})
	if err != nil {
		t.Fatalf("reading the audit trail: %v", err)
	}
	return records
}

// since names how each record looks that is not among the ones before, without
// those of lists that the relay read by itself.
func since(before, after []audit.Record) []string {
	known := map[string]bool{}
	for _, r := range before {
		known[r.CallID] = true
	}
	var fresh []string
	for _, r := range after {
		if !known[r.CallID] && (r.Face != call.FaceInternal || r.Operation != call.OperationDiscover) {
			fresh = append(fresh, fmt.Sprintf("%s %s %s", r.State, r.Outcome, r.Reason))
		}
	}
	return fresh
}

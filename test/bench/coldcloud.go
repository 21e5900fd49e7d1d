package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"mcprelay/shared/call"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/token"
	"mcprelay/test/peers"
	"mcprelay/test/registration"
)

// The registration that fresh processes read: an issuer with its key, and a
// server that no rule lets anybody reach, so that a list of servers is made of
// what is stored alone.
const (
	coldTenant   = "bench"
	coldSubject  = "cold-caller"
	coldIssuer   = "https://login.example.com"
	coldAudience = "https://relay.example.com"
	coldConfig   = `{
  "tenant": "` + coldTenant + `",
  "servers": [{"name": "docs", "config": {"endpoint": "https://mcp.example.com/mcp", "auth": {"type": "none"}}}],
  "issuers": [{"issuer": "` + coldIssuer + `", "audience": "` + coldAudience + `", "kind": "user", "algorithms": ["EdDSA"],
    "keys": {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": "KEY"}]}}]
}`
)

// cloud is emulated AWS with all that a function asks of it when it starts: the
// three tables and the secret that states are sealed with.
type cloud struct {
	env     []string // of a function
	started []*peers.Peer
	token   string // a service token in the store
	key     ed25519.PrivateKey
}

func startCloud(ctx context.Context) (c *cloud, err error) {
	c = &cloud{}
	dynalite, moto, err := c.emulators()
	if err != nil {
		return nil, err
	}
	if err := c.fill(ctx, dynalite, moto); err != nil {
		c.stop()
		return nil, fmt.Errorf("filling the emulators: %w", err)
	}
	return c, nil
}

func (c *cloud) stop() {
	for _, p := range c.started {
		p.Stop()
	}
}

// emulators are those of the run, or else ones of the bench's own.
func (c *cloud) emulators() (dynalite, moto string, err error) {
	urls := map[string]string{peers.EnvDynalite: os.Getenv(peers.EnvDynalite), peers.EnvMoto: os.Getenv(peers.EnvMoto)}
	if urls[peers.EnvDynalite] == "" || urls[peers.EnvMoto] == "" {
		started, err := peers.StartAll()
		if err != nil {
			return "", "", err
		}
		for _, p := range started {
			name, url, _ := strings.Cut(p.Env(), "=")
			if _, needed := urls[name]; !needed {
				p.Stop()
				continue
			}
			urls[name], c.started = url, append(c.started, p)
		}
	}
	return urls[peers.EnvDynalite], urls[peers.EnvMoto], nil
}

func (c *cloud) fill(ctx context.Context, dynalite, moto string) error {
	sdk := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	db := dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) { o.BaseEndpoint = &dynalite })
	names, run := map[string]string{}, strings.ToLower(rand.Text())
	for _, table := range dynamo.Schema() {
		names[table.Name] = "bench-" + table.Name + "-" + run
		if _, err := db.CreateTable(ctx, table.CreateTable(names[table.Name])); err != nil {
			return fmt.Errorf("creating a table: %w", err)
		}
	}
	secrets, sealing := secretsmanager.NewFromConfig(sdk, func(o *secretsmanager.Options) { o.BaseEndpoint = &moto }), "bench-seal-"+run
	if _, err := secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &sealing, SecretString: aws.String(rand.Text() + rand.Text())}); err != nil {
		return fmt.Errorf("storing a secret: %w", err)
	}
	c.env = []string{
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynalite, "AWS_ENDPOINT_URL_SECRETS_MANAGER=" + moto,
		"RELAY_REGISTRY_TABLE=" + names[dynamo.Registry], "RELAY_STATE_TABLE=" + names[dynamo.State], "RELAY_AUDIT_TABLE=" + names[dynamo.Audit],
		"RELAY_SECRET_PREFIX=mcprelay/", "RELAY_SEAL_SECRET=" + sealing,
	}
	return c.register(ctx, dynamo.New(dynamo.Config{
		DynamoDB: db, Secrets: secrets, Registry: names[dynamo.Registry], State: names[dynamo.State], Audit: names[dynamo.Audit],
	}))
}

// register stores the registration and a service token.
func (c *cloud) register(ctx context.Context, store *dynamo.Store) error {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	c.key = key
	text := strings.Replace(coldConfig, "KEY", base64.RawURLEncoding.EncodeToString(public), 1)
	if err := registration.Put(ctx, store, []byte(text)); err != nil {
		return err
	}
	var keyID string
	if c.token, keyID, err = token.Mint(rand.Reader); err != nil {
		return err
	}
	return store.PutToken(ctx, token.Record{
		KeyID: keyID, Hash: token.Hash(c.token), Tenant: coldTenant, Subject: coldSubject,
		Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall}, Created: time.Now().UTC(),
	})
}

// jwt is a token of the registered issuer.
func (c *cloud) jwt(now time.Time) string {
	claims := fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":%q,"scope":"call","iat":%d,"exp":%d}`,
		coldIssuer, coldAudience, coldSubject, now.Unix(), now.Add(time.Hour).Unix())
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"one","typ":"at+jwt"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(c.key, []byte(signed)))
}

// cases are the edge check with each kind of credential, and the relay itself
// with a list that needs no server.
func (c *cloud) cases(now time.Time) ([]coldCase, error) {
	bearer := func(text string) map[string]string { return map[string]string{"Authorization": "Bearer " + text} }
	edge := func(text string) any {
		return events.APIGatewayCustomAuthorizerRequestTypeRequest{
			Type: "REQUEST", MethodArn: "arn:aws:execute-api:us-east-1:123456789012:abcdefghij/live/POST/v1/mcp",
			Resource: "/v1/mcp", Path: "/v1/mcp", HTTPMethod: "POST", Headers: bearer(text),
		}
	}
	passed := []string{coldSubject, `"Effect":"Allow"`}
	cases := []coldCase{
		{function: "authorizer", request: "service token", wants: passed},
		{function: "authorizer", request: "JWT, pinned key", wants: passed},
		{function: "relay", request: "GET /v1/servers", wants: []string{`"statusCode":200`, `"servers":[]`}},
	}
	list := events.APIGatewayProxyRequest{Resource: "/{proxy+}", Path: "/v1/servers", HTTPMethod: "GET", Headers: bearer(c.token)}
	for i, event := range []any{edge(c.token), edge(c.jwt(now)), list} {
		text, err := json.Marshal(event)
		if err != nil {
			return nil, fmt.Errorf("encoding an event: %w", err)
		}
		cases[i].event = text
	}
	return cases, nil
}

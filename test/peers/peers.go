// Package peers starts the programs of others that the tests talk to:
// dynalite and moto in place of AWS, server-everything and the Go SDK's
// everything-server as upstreams.
//
// It promises that each listens on a free port of 127.0.0.1 only, is the
// pinned version that setup.sh installed under .cache/, is shared by all tests
// of one run, and ends with the process that started it even where that is
// killed. It refuses to skip: a peer that is not installed fails the test with
// one sentence.
package peers

import (
	"sync"
	"testing"
)

// The environment variables by which [Start]ed peers are shared with the test
// binaries of one run; each holds a URL.
const (
	EnvDynalite    = "MCPRELAY_TEST_DYNALITE"
	EnvMoto        = "MCPRELAY_TEST_MOTO"
	EnvEverything  = "MCPRELAY_TEST_EVERYTHING"
	EnvGoStateless = "MCPRELAY_TEST_GO_STATELESS"
	EnvGoStateful  = "MCPRELAY_TEST_GO_STATEFUL"
)

// shared holds the peers that this test binary had to start by itself.
var shared sync.Map // variable -> func() (string, error)

// Dynalite is the base URL of a DynamoDB emulator that is strict about
// expressions and fast, without transactions, streams and TTL.
func Dynalite(t testing.TB) string { return need(t, EnvDynalite) }

// Moto is the base URL of an emulator of DynamoDB, Secrets Manager and STS. It
// manages about 350 requests a second: use it serially and little.
func Moto(t testing.TB) string { return need(t, EnvMoto) }

// Everything is the MCP endpoint of server-everything: legacy era only, with
// sessions, answering a lost session with status 400.
func Everything(t testing.TB) string { return need(t, EnvEverything) }

// GoStateless is the MCP endpoint of the Go SDK's everything-server without
// sessions: both eras.
func GoStateless(t testing.TB) string { return need(t, EnvGoStateless) }

// GoStateful is the MCP endpoint of the Go SDK's everything-server with
// sessions: legacy era only.
func GoStateful(t testing.TB) string { return need(t, EnvGoStateful) }

// Tool is the path of an installed program: aws-lambda-rie, staticcheck,
// cfn-lint, or python of the environment that holds aws-sam-translator.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := tool(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// need gives the URL in the variable, or of a peer started for this binary.
func need(t testing.TB, variable string) string {
	t.Helper()
	once, _ := shared.LoadOrStore(variable, sync.OnceValues(func() (string, error) { return fromEnv(variable) }))
	url, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

package sessions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/store/dynamo"
	"mcprelay/test/peers"
)

// buildDir is set before any test runs.
var buildDir string

// build builds a command without the race detector, which would make a
// process ten times as large.
func build(t *testing.T, command string) string {
	t.Helper()
	program := filepath.Join(buildDir, path.Base(command))
	b := exec.Command("go", "build", "-o", program, command)
	b.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := b.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v: %s", command, err, out)
	}
	return program
}

// writeConfig writes a config file of tenant acme with one server, up. Opening
// may take as long as all processes need to start.
func writeConfig(t *testing.T, endpoint string) string {
	t.Helper()
	rule := func(action string) map[string]any { return map[string]any{"action": action, "decision": "allow"} }
	text, err := json.Marshal(map[string]any{
		"tenant": "acme",
		"servers": []any{map[string]any{"name": "up", "config": map[string]any{
			"endpoint": endpoint, "auth": map[string]any{"type": "none"}, "effects": map[string]any{"count": "read"}, "startup_timeout_ms": 30_000,
		}}},
		"rules": []any{rule("mcp.up.host.127.0.0.1"), rule("mcp.up.tool.*")},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run starts processes that make one call each, all at once, and wants every
// one to get the answer to its own.
func run(t *testing.T, program string, args []string, first, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for n := first; n < first+count; n++ {
		var stdout, stderr bytes.Buffer
		c := exec.CommandContext(ctx, program, append(args, "up", "count", fmt.Sprintf(`{"n":%d}`, n))...)
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		c.Stdout, c.Stderr = &stdout, &stderr
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			err := c.Wait()
			if want := fmt.Sprintf(`"structuredContent":{"n":%d}`, n); err != nil || !strings.Contains(stdout.String(), want) {
				t.Errorf("process %d: got %v and %s, want %s\n%s", n, err, &stdout, want, &stderr)
			}
		})
	}
	wg.Wait()
}

// makeTables makes the tables in dynalite under a prefix of this test.
func makeTables(t *testing.T) (url, prefix string, db *dynamodb.Client) {
	t.Helper()
	url, prefix = peers.Dynalite(t), "s"+strings.ToLower(ulid.Make().String())+"-"
	db, _ = dynamo.Clients(aws.Config{
		Region: "us-east-1", BaseEndpoint: &url, HTTPClient: &http.Client{Timeout: time.Minute},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	for _, table := range dynamo.Schema() {
		name := prefix + table.Name
		if _, err := db.CreateTable(t.Context(), table.CreateTable(name)); err != nil {
			t.Fatal(err)
		}
		waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		})
		if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		})
	}
	return url, prefix, db
}

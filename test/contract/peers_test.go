package contract_test

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go/logging"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/secret"
	"mcprelay/shared/store/dynamo"
	"mcprelay/shared/store/local"
	"mcprelay/test/peers"
)

func TestSQLite(t *testing.T) {
	dir := t.TempDir()
	run(t, peer{
		name: "sqlite",
		open: func(t testing.TB) store { return openLocal(t, dir) },
		hang: lockedLocal,
		put: func(t testing.TB, source secret.Source, value string) {
			t.Helper()
			if err := os.Setenv(source.Env, value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Unsetenv(source.Env) })
		},
		lacks:  []need{tenantNames},
		exists: local.ErrExists, alreadyFinal: local.ErrAlreadyFinal,
		tooLarge: local.ErrTooLarge, badCursor: local.ErrCursor,
		least: leastSQLite,
	})
}

func TestDynalite(t *testing.T) {
	run(t, remote(t, peer{name: "dynalite", lacks: []need{secrets, tenantNames}, least: leastDynalite}, peers.Dynalite(t)))
}

func TestMoto(t *testing.T) {
	run(t, remote(t, peer{name: "moto", lacks: []need{concurrency, manyReads}, least: leastMoto}, peers.Moto(t)))
}

// openLocal opens a data folder for the length of a test.
func openLocal(t testing.TB, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

// lockedLocal is a store whose file somebody else keeps locked, and whose
// journal is full: until then it takes records.
func lockedLocal(t testing.TB) store {
	t.Helper()
	dir := t.TempDir()
	s := openLocal(t, dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "relay.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = db.Close()
	})
	for _, size := range []int{345 << 10, 4 << 10, 0} {
		fillJournal(t, s, size)
	}
	return s
}

// fillJournal writes records of a size until there is no room for another.
func fillJournal(t testing.TB, s store, size int) {
	t.Helper()
	for range 1000 {
		r := intent(newTenant(), now())
		r.Detail = strings.Repeat("x", size)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := s.Intent(ctx, r) // the shortest that there are
		cancel()
		if err != nil {
			return
		}
	}
	t.Fatal("the journal takes records without end")
}

// remote fills in what the two emulators have in common. The tables are made
// once, under a name of this run.
func remote(t testing.TB, p peer, url string) peer {
	t.Helper()
	cfg := awsConfig(url)
	// The emulators are slower than AWS in a busy run; the bounds of Clients
	// have tests of their own.
	cfg.HTTPClient = &http.Client{Timeout: 30 * time.Second}
	prefix := "c" + strings.ToLower(ulid.Make().String()) + "-"
	db, sm := dynamo.Clients(cfg)
	createTables(t, db, prefix)
	p.open = func(testing.TB) store { return openDynamo(cfg, prefix) }
	p.hang = func(t testing.TB) store {
		hanging := awsConfig("http://" + deafListener(t))
		return openDynamo(hanging, prefix)
	}
	p.put = func(t testing.TB, source secret.Source, value string) { putSecret(t, sm, source.Secret, value) }
	p.exists, p.alreadyFinal = dynamo.ErrExists, dynamo.ErrAlreadyFinal
	p.tooLarge, p.badCursor = dynamo.ErrTooLarge, dynamo.ErrCursor
	return p
}

// secretPrefix is what the names of all secrets begin with.
const secretPrefix = "mcprelay/"

func awsConfig(url string) aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: &url,
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
		Logger:       logging.Nop{}, // moto's error replies have a wrong checksum, which the SDK logs
	}
}

func openDynamo(cfg aws.Config, prefix string) *dynamo.Store {
	db, sm := dynamo.Clients(cfg)
	return dynamo.New(dynamo.Config{
		DynamoDB: db, Secrets: sm,
		Registry: prefix + dynamo.Registry, State: prefix + dynamo.State, Audit: prefix + dynamo.Audit,
		SecretPrefix: secretPrefix,
	})
}

func createTables(t testing.TB, db *dynamodb.Client, prefix string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, table := range dynamo.Schema() {
		name := prefix + table.Name
		if _, err := db.CreateTable(ctx, table.CreateTable(name)); err != nil {
			t.Fatalf("creating %s: %v", name, err)
		}
		waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		})
		if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
			t.Fatalf("waiting for %s: %v", name, err)
		}
	}
	t.Cleanup(func() {
		for _, table := range dynamo.Schema() {
			name := prefix + table.Name
			_, _ = db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		}
	})
}

// putSecret makes a secret, or a new version of it.
func putSecret(t testing.TB, sm *secretsmanager.Client, name, value string) {
	t.Helper()
	_, err := sm.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value})
	if err == nil {
		return
	}
	_, err = sm.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: &name, SecretString: &value})
	if err != nil {
		t.Fatalf("putting secret %s: %v", name, err)
	}
}

// deafListener is the address of a peer that takes connections and never answers.
func deafListener(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		held []net.Conn
		wg   sync.WaitGroup
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

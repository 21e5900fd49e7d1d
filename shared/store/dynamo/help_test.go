package dynamo_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/dynamo"
)

// value is an attribute value on the wire: {"S": "x"}.
type value map[string]string

// request is what a fake AWS was asked.
type request struct {
	Operation                 string `json:"-"` // PutItem
	TableName, IndexName      string
	Item, Key                 map[string]value
	ExclusiveStartKey         map[string]value
	ConditionExpression       string
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]value
	Limit                     int
	ConsistentRead            bool
	ScanIndexForward          *bool
	SecretId, VersionStage    string
}

// fake is an AWS endpoint that answers as a test says and keeps what it was asked.
type fake struct {
	url string

	mu   sync.Mutex
	seen []request
}

// answer writes the reply to one request.
type answer func(w http.ResponseWriter, r request)

func newFake(t *testing.T, a answer) *fake {
	t.Helper()
	f := &fake{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		asked := request{Operation: operation}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Errorf("request %s: %v", body, err)
		}
		f.mu.Lock()
		f.seen = append(f.seen, asked)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		a(w, asked)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// asked is every request so far.
func (f *fake) asked() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.seen...)
}

func ok(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, "{}") }

// fails answers with an AWS error.
func fails(status int, kind string) answer {
	return func(w http.ResponseWriter, _ request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws#`+kind+`","message":"no"}`)
	}
}

func configOf(url string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &url, Logger: logging.Nop{},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
}

// newStore is a store whose clients talk to url, on tables r, s and a.
func newStore(url string, now func() time.Time) *dynamo.Store {
	db, sm := dynamo.Clients(configOf(url))
	return dynamo.New(dynamo.Config{DynamoDB: db, Secrets: sm, Registry: "r", State: "s", Audit: "a", Now: now})
}

func idAt(at time.Time) string { return ulid.MustNew(ulid.Timestamp(at), rand.Reader).String() }

func recordAt(at time.Time) audit.Record {
	return audit.Record{
		CallID: idAt(at), Tenant: "acme", Time: at, Agent: "ci", Server: "docs", Tool: "search", Run: "run-1",
		Policy: call.PolicyNotRun, Decision: call.Allow, Outcome: call.Answered,
	}
}

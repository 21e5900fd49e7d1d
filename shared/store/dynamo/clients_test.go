package dynamo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
)

func stateUntil(expires time.Time) session.State {
	return session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "s", Expires: expires}
}

// silent never answers. The test's context ends before its server is closed.
func silent(t *testing.T) answer {
	return func(http.ResponseWriter, request) { <-t.Context().Done() }
}

func TestRequestsToASilentAWSEndWithinARecordsBudget(t *testing.T) {
	f := newFake(t, silent(t))
	s := newStore(f.url, nil)
	began := time.Now()
	if err := s.Intent(t.Context(), recordAt(time.Now())); err == nil {
		t.Error("got no error")
	}
	// relay.RecordBudget, and some for a busy machine.
	if took := time.Since(began); took > 3500*time.Millisecond {
		t.Errorf("took %v, want less than 3 s", took)
	}
	if got := len(f.asked()); got != 3 {
		t.Errorf("got %d attempts, want 3", got)
	}
}

func TestAnAttemptThatHangsIsRepeated(t *testing.T) {
	var n atomic.Int32
	hang := silent(t)
	f := newFake(t, func(w http.ResponseWriter, r request) {
		if n.Add(1) == 1 {
			hang(w, r)
			return
		}
		ok(w, r)
	})
	if err := newStore(f.url, nil).Intent(t.Context(), recordAt(time.Now())); err != nil {
		t.Errorf("got %v, want the second attempt's answer", err)
	}
}

func TestErrorsOfAWSAreRepeatedWithShortPauses(t *testing.T) {
	for _, refuse := range []answer{
		fails(http.StatusInternalServerError, "InternalServerError"),
		fails(http.StatusBadRequest, "ProvisionedThroughputExceededException"),
	} {
		f := newFake(t, refuse)
		s := newStore(f.url, nil)
		began := time.Now()
		for range 5 {
			if _, err := s.Load(t.Context(), "S#x"); err == nil {
				t.Error("got no error")
			}
		}
		// Five times two pauses of at most 100 ms; the SDK's own, after
		// throttling, begin at a second.
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %v, want at most 1 s of pauses", took)
		}
		if got := len(f.asked()); got != 15 {
			t.Errorf("got %d attempts, want 15", got)
		}
	}
}

func TestConfiguredHTTPClientIsKept(t *testing.T) {
	used := false
	cfg := configOf("http://example.invalid")
	cfg.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
		used = true
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	db, sm := dynamo.Clients(cfg)
	_, _ = dynamo.New(dynamo.Config{DynamoDB: db, Secrets: sm, State: "s"}).Load(t.Context(), "S#x")
	if !used {
		t.Error("the client of the configuration was not used")
	}
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestSecretIsAskedForByStage(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ request) {
		_, _ = io.WriteString(w, `{"Name":"acme/docs","VersionId":"v7","SecretString":"the value"}`)
	})
	got, err := newStore(f.url, nil).Secret(t.Context(), "acme", secret.Source{Env: "NOT_THIS", Secret: "acme/docs"})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Same(secret.NewValue([]byte("the value"), "v7")) {
		t.Errorf("got %d bytes of version %s, want the value of v7", got.Len(), got.Version())
	}
	if asked := f.asked(); len(asked) != 1 || asked[0].SecretId != "acme/docs" || asked[0].VersionStage != "AWSCURRENT" {
		t.Errorf("got %+v, want one request for AWSCURRENT", asked)
	}
}

func TestSecretsThatCannotBeReadAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  answer
		missing bool
	}{
		{"not there", fails(400, "ResourceNotFoundException"), true},
		{"being deleted", fails(400, "InvalidRequestException"), true},
		{"empty", func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, `{"VersionId":"v1","SecretString":""}`)
		}, true},
		{"no value", func(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, `{"VersionId":"v1"}`) }, true},
		{"not allowed", fails(400, "AccessDeniedException"), false},
		{"not decrypted", fails(400, "DecryptionFailure"), false},
		{"down", fails(503, "ServiceUnavailable"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newStore(newFake(t, tt.answer).url, nil).Secret(t.Context(), "acme", secret.Source{Secret: "acme/docs"})
			if err == nil {
				t.Fatal("got no error")
			}
			if got := isMissing(err); got != tt.missing {
				t.Errorf("got %v, want it to be missing: %v", err, tt.missing)
			}
		})
	}
}

// The function may read the secrets of every tenant, so the store asks only for
// those of the one whose call it is.
func TestOnlyTheTenantsOwnSecretsAreAskedFor(t *testing.T) {
	const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:"
	for _, tt := range []struct {
		prefix, tenant, id string
		want               bool
	}{
		{"", "acme", "acme/docs", true},
		{"", "acme", arn + "acme/docs-AbCdEf", true},
		{"", "acme", arn + "acme/docs", true},
		{"mcprelay/", "acme", "mcprelay/acme/docs", true},
		{"mcprelay/", "acme", arn + "mcprelay/acme/docs-AbCdEf", true},
		{"", "acme", "umbra/docs", false},
		{"", "acme", "acme", false},
		{"", "acme", "acme-2/docs", false},
		{"", "acme", "acmedocs", false},
		{"", "acme", "Acme/docs", false},
		{"", "acme", "/acme/docs", false},
		{"", "acme", "docs", false},
		{"", "acme", arn + "umbra/docs-AbCdEf", false},
		{"", "acme", arn, false},
		{"", "acme", "acme:" + arn + "umbra/docs", false},
		{"", "acme", "arn:acme/docs", false},
		{"mcprelay/", "acme", "acme/docs", false},
		{"mcprelay/", "acme", "mcprelay/docs", false},
		{"mcprelay/", "acme", "mcprelay/umbra/docs", false},
		{"mcprelay/", "acme", "mcprelay/umbra/acme/docs", false},
		{"mcprelay/", "acme", arn + "mcprelay/umbra/docs-AbCdEf", false},
		{"mcprelay/", "acme", arn + "acme/docs-AbCdEf", false},
		{"", "", "/docs", false},
		{"mcprelay/", "", "mcprelay//docs", false},
	} {
		f := newFake(t, func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, `{"VersionId":"v7","SecretString":"the value"}`)
		})
		_, sm := dynamo.Clients(configOf(f.url))
		value, err := dynamo.New(dynamo.Config{Secrets: sm, SecretPrefix: tt.prefix}).Secret(t.Context(), tt.tenant, secret.Source{Secret: tt.id})
		if read := err == nil && value.Len() > 0; read != tt.want || read != (len(f.asked()) == 1) {
			t.Errorf("%q of tenant %q under %q: got %v and %d requests, want it read: %v", tt.id, tt.tenant, tt.prefix, err, len(f.asked()), tt.want)
		}
		if err != nil && (!errors.Is(err, secret.ErrForeign) || !errors.Is(err, secret.ErrNotFound)) {
			t.Errorf("%q of tenant %q: got %v, want %v", tt.id, tt.tenant, err, secret.ErrForeign)
		}
	}
}

func TestBinarySecretIsReadAsItIs(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, _ request) {
		_, _ = io.WriteString(w, `{"VersionId":"v1","SecretBinary":"AP8KeA=="}`)
	})
	got, err := newStore(f.url, nil).Secret(context.Background(), "acme", secret.Source{Secret: "acme/x"})
	if err != nil || !got.Same(secret.NewValue([]byte{0, 0xff, '\n', 'x'}, "v1")) {
		t.Errorf("got %d bytes and %v, want the four", got.Len(), err)
	}
}

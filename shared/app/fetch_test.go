package app_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/store/local"
)

// signer signs tokens of an issuer, and publishes its key.
type signer struct {
	key ed25519.PrivateKey
	set string
}

func newSigner(t *testing.T) signer {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	return signer{key, string(set)}
}

func (s signer) token() string {
	b64 := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"iss":%q,"aud":"https://relay.example.com","sub":"alice","iat":%d,"exp":%d}`, login, time.Now().Unix(), time.Now().Add(time.Hour).Unix())
	signed := b64([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + b64([]byte(claims))
	return signed + "." + b64(ed25519.Sign(s.key, []byte(signed)))
}

// folder is a store of nothing.
func folder(t *testing.T) *local.Store {
	t.Helper()
	store, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// authenticator trusts the login issuer, whose keys are at a URL on loopback.
func authenticator(t *testing.T, keys string, o app.Options) *auth.Authenticator {
	t.Helper()
	file := fmt.Sprintf(`{"tenant":"acme","issuers":[{"issuer":%q,"jwks_uri":%q,"audience":"https://relay.example.com","kind":"user","algorithms":["EdDSA"]}]}`, login, keys)
	c, err := config.Parse("relay.json", []byte(file), config.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	o.Store, o.Issuers = folder(t), app.FileIssuers(c.Tenant)
	a, err := app.Authenticator(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func judge(t *testing.T, a *auth.Authenticator, token string) (string, error) {
	t.Helper()
	p, refusal := a.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
	if refusal != nil {
		return string(refusal.Reason), refusal
	}
	return p.Subject, nil
}

func TestKeysAreReadOverTheWire(t *testing.T) {
	s := newSigner(t)
	large := strings.TrimSuffix(s.set, "}") + `,"x":"` + strings.Repeat("a", auth.MaxKeys) + `"}`
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"plain": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s.set) }, "alice"},
		"another way": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, s.set)
		}, "auth_unavailable"},
		"in chunks": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range len(s.set) {
				_, _ = io.WriteString(w, s.set[i:i+1])
				_ = http.NewResponseController(w).Flush()
			}
		}, "alice"},
		"elsewhere":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "auth_unavailable"},
		"not found":  {http.NotFound, "auth_unavailable"},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "auth_unavailable"},
		"too large":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) }, "auth_unavailable"},
		"a large head": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("a", 1<<20))
			_, _ = io.WriteString(w, s.set)
		}, "auth_unavailable"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = io.WriteString(w, s.set)
		}, "auth_unavailable"},
		"another's key": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, newSigner(t).set) }, "unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Method != http.MethodGet || r.URL.Path != "/keys" || r.Header.Get("Authorization") != "" || r.Host != strings.TrimPrefix(serverOf(r), "http://") {
					t.Errorf("asked %s %s of %s with %v", r.Method, r.URL, r.Host, r.Header)
				}
				c.serve(w, r)
			}))
			defer server.Close()
			a := authenticator(t, server.URL+"/keys", app.Options{Loopback: true})
			for range 2 {
				if got, err := judge(t, a, s.token()); got != c.want {
					t.Errorf("got %s (%v), want %s", got, err, c.want)
				}
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times, want once", asked.Load())
			}
		})
	}
}

func serverOf(r *http.Request) string {
	return "http://" + r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
}

func TestKeysOfAnIssuerThatSpeaksSomethingElse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-secret-banner\r\n")
			conn.Close()
		}
	}()
	got, err := judge(t, authenticator(t, "http://"+listener.Addr().String()+"/keys", app.Options{Loopback: true}), newSigner(t).token())
	if got != string(call.AuthUnavailable) {
		t.Errorf("got %s", got)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "banner") {
			t.Errorf("the error quotes the server: %v", err)
		}
	}
}

// The guard decides where keys come from: not from loopback where nobody allowed
// it, and not from the relay itself.
func TestKeysAreReadThroughTheGuard(t *testing.T) {
	s := newSigner(t)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, s.set)
	}))
	defer server.Close()
	for want, o := range map[call.Reason]app.Options{
		call.Loopback: {},
		call.Loop:     {Loopback: true, OwnHosts: []string{server.Listener.Addr().String()}},
	} {
		_, err := judge(t, authenticator(t, server.URL+"/keys", o), s.token())
		var refusal *call.Refusal
		if cause := errors.Unwrap(err); !errors.As(cause, &refusal) || refusal.Reason != want {
			t.Errorf("got %v, want %s", cause, want)
		}
	}
	if asked.Load() != 0 {
		t.Error("the issuer was asked")
	}
}

func TestThePublicURLIsOneOfTheRelaysOwn(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "https://relay.example.com": true, "https://relay.example.com/": true, "https://api.example.com/live": true,
		"http://127.0.0.1:8080": true, "http://relay.example.com": false, "https://relay.example.com/?x=1": false,
		"https://relay.example.com/#x": false, "relay.example.com": false, "https://relay.example.com//": false,
		"https://user@relay.example.com": false, "https://RELAY.example.com": false, "https://relay.example.com/a\"b": false,
	} {
		a, err := app.New(app.Options{Registry: app.FileRegistry{}, Store: folder(t), PublicURL: text})
		if (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
		if err == nil {
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := app.New(app.Options{Registry: app.FileRegistry{}, Store: folder(t), SealKeys: [][]byte{make([]byte, 31)}}); err == nil {
		t.Error("a short key is accepted")
	}
}

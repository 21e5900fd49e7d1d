package faults_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func credentials() []row {
	return []row{
		{18, "a secret that was rotated is read again, and the call is made once more", rotated},
		{19, "a credential that is rejected is said to be, and nothing is asked twice", rejected},
		{20, "both versions of a secret that was rotated are masked", bothMasked},
		{45, "a credential that the server says is masked, whatever it looks like", echoedBack},
		{46, "what looks like another's credential passes", othersPass},
	}
}

// newer is the value that replaces [hostile.Token].
const newer = "upstream-credential-b7e2d0"

// vault is where the relay reads the secret.
type vault struct {
	mu      sync.Mutex
	value   string
	version string
	reads   int
	after   func(*vault) // runs after each reading
}

func (v *vault) read() (value, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	value, version = v.value, v.version
	if v.after != nil {
		v.after(v)
	}
	return value, version
}

// rotate puts the newer value there.
func (v *vault) rotate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.value, v.version = newer, "v2"
}

func (v *vault) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

func newVault() *vault { return &vault{value: hostile.Token, version: "v1"} }

// only lets a script answer those who show a credential, and status the others.
func only(credential string, status int, script hostile.Script) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		if r.Header.Get("Authorization") != "Bearer "+credential {
			c.Reply(status, "text/plain", bait)
			return
		}
		script(c, r)
	}
}

func rotated(t *testing.T, k *stage) {
	for _, era := range hostile.Eras() {
		t.Run(string(era), func(t *testing.T) {
			v := newVault()
			s := k.warm(t, era, hostile.Setup{Credential: v.read})
			s.secrets = append(s.secrets, newer)
			v.rotate()
			s.on(only(newer, http.StatusUnauthorized, s.up.Honest))
			reply := s.ask(hostile.Ask{}, want{posts: 2, renewed: true})
			both := []audit.SecretUse{{Ref: "up-ref", Version: "v1"}, {Ref: "up-ref", Version: "v2"}}
			if diff := cmp.Diff(both, reply.Record.Secrets); diff != "" {
				t.Errorf("the secrets that were used: -want +got\n%s", diff)
			}
			if reply := s.ask(hostile.Ask{Plain: true}, want{}); len(reply.Record.Secrets) != 1 || reply.Record.Secrets[0].Version != "v2" {
				t.Errorf("the next call used %v, want the newer version alone", reply.Record.Secrets)
			}
			for _, tool := range []string{"look", "change"} {
				s.ask(hostile.Ask{Tool: tool}, want{})
			}
		})
	}
	t.Run("while the server is opened", func(t *testing.T) {
		for _, era := range hostile.Eras() {
			v := newVault()
			v.after = func(v *vault) { v.value, v.version = newer, "v2" }
			s := k.set(t, hostile.Options{Era: era}, hostile.Setup{Credential: v.read})
			for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"} {
				s.up.On(method, only(newer, http.StatusUnauthorized, s.up.Honest))
			}
			s.secrets = append(s.secrets, newer)
			s.ask(hostile.Ask{}, want{renewed: true, session: hostile.Fresh(era), opened: hostile.Opens(era)})
		}
	})
	t.Run("403 says nothing of the secret's age", func(t *testing.T) {
		v := newVault()
		s := k.warm(t, hostile.Modern, hostile.Setup{Credential: v.read})
		v.rotate()
		s.on(only(newer, http.StatusForbidden, s.up.Honest))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, status: http.StatusForbidden})
	})
}

func rejected(t *testing.T, k *stage) {
	for _, era := range hostile.Eras() {
		t.Run(string(era), func(t *testing.T) {
			v := newVault()
			s := k.warm(t, era, hostile.Setup{Credential: v.read})
			for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
				for _, body := range []string{"", bait, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"` + bait + `"}}`, `{"jsonrpc":"2.0","id":$ID,"result":{}}`} {
					s.on(hostile.Status(status, "application/json", body, `WWW-Authenticate: Bearer error_description="not `+hostile.Token+`", resource_metadata="http://`+k.trap()+`/"`))
					reply := s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, status: status})
					challenge := `Bearer error_description="not [redacted]", resource_metadata="http://` + k.trap() + `/"`
					if reply.Record.Challenge != challenge {
						t.Errorf("the record has the challenge %q, want %q", reply.Record.Challenge, challenge)
					}
				}
				s.ask(hostile.Ask{Plain: true}, want{reason: call.UpstreamUnauthorized, status: status})
			}
			if got := v.count(); got != 2 {
				t.Errorf("the secret was read %d times, want once, and once more to see whether it changed", got)
			}
			v.rotate()
			s.secrets = append(s.secrets, newer)
		})
	}
	t.Run("both versions", func(t *testing.T) {
		v := newVault()
		s := k.warm(t, hostile.Legacy, hostile.Setup{Credential: v.read})
		s.secrets = append(s.secrets, newer)
		v.rotate()
		s.on(hostile.Status(http.StatusUnauthorized, "text/plain", bait))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, status: http.StatusUnauthorized, posts: 2, renewed: true})
		s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, status: http.StatusUnauthorized})
	})
	t.Run("while the server is opened", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			for _, method := range []string{"server/discover", "initialize"} {
				s.up.On(method, hostile.Status(http.StatusUnauthorized, "text/plain", bait))
			}
			s.both(want{reason: call.UpstreamUnauthorized, effect: call.ImpactNone, status: http.StatusUnauthorized, posts: none, session: "-"})
		})
	})
}

func bothMasked(t *testing.T, k *stage) {
	v := newVault()
	s := k.warm(t, hostile.Modern, hostile.Setup{Credential: v.read})
	s.secrets = append(s.secrets, newer)
	v.rotate()
	says := func(text string) string { return `{"content":[{"type":"text","text":"` + text + `"}]}` }
	s.on(only(newer, http.StatusUnauthorized, hostile.Result(says(hostile.Token+" and "+newer+" and "+hostile.Token))))
	s.ask(hostile.Ask{}, want{posts: 2, renewed: true, masked: 3, result: says("[redacted] and [redacted] and [redacted]")})
	failing := only(newer, http.StatusUnauthorized, hostile.Status(http.StatusInternalServerError, "text/plain", "not "+newer+"!"))
	s.on(failing)
	s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, status: http.StatusInternalServerError, detail: "not [redacted]!"})
}

// othersPass: a text that only looks like a credential is a tool's own
// business. The relay masks those that it sent.
func othersPass(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
		const result = `{"content":[{"type":"text","text":"AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEXAMPLE ASIAIOSFODNN7EXAMPLE Bearer eyJhbGciOiJub25lIn0.e30."}]}`
		s.on(hostile.Result(result))
		s.ask(hostile.Ask{}, want{result: result})
		s.ask(hostile.Ask{Plain: true}, want{result: result})
	})
}

package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/redact"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

// environment gives each variable, followed by its reference.
func environment(pairs ...string) secret.Auth {
	a := secret.Auth{Type: secret.TypeEnvironment, Environment: make(map[string]string)}
	for i := 0; i < len(pairs); i += 2 {
		a.Environment[pairs[i]] = pairs[i+1]
	}
	return a
}

func TestVariablesAnOperatorMayUse(t *testing.T) {
	for _, name := range []string{"A", "_", "_a1", "DOCS_TOKEN", "path", "PATH", "RELAYED", "RELAY", "AWSOME", "LDAP_URL", "MY_AWS_KEY", strings.Repeat("A", 128)} {
		if err := secret.Variable(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVariablesThatAreRefused(t *testing.T) {
	const owned = "this variable belongs to the relay, to its platform or to the loader of programs"
	spelled := func(at int) string {
		return fmt.Sprintf("its byte %d is not one of a-z A-Z 0-9 _, or is a digit at the beginning", at)
	}
	for name, want := range map[string]string{
		"": "a variable needs a name", strings.Repeat("A", 129): "it is longer than 128 bytes",
		"1A": spelled(1), "A-B": spelled(2), "A=B": spelled(2), "A B": spelled(2), "A\x00": spelled(2), "Ä": spelled(1), "A.B": spelled(2), "A\n": spelled(2),
		"RELAY_TOKEN": owned, "relay_token": owned, "Relay_": owned, "AWS_SECRET_ACCESS_KEY": owned, "aws_profile": owned, "LAMBDA_TASK_ROOT": owned, "_LAMBDA_X": owned,
		"_AWS_XRAY_DAEMON_ADDRESS": owned, "_X_AMZN_TRACE_ID": owned, "_HANDLER": owned,
		"LD_PRELOAD": owned, "LD_LIBRARY_PATH": owned, "LD_AUDIT": owned, "ld_preload": owned, "DYLD_INSERT_LIBRARIES": owned, "DYLD_LIBRARY_PATH": owned,
	} {
		if err := secret.Variable(name); err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", name, err, want)
		}
	}
}

func TestEnvironIsSortedAndUnchanged(t *testing.T) {
	values := values("one", "12345678", "two", "a b=c\n\ttail  ", "three", "\xff\xfeÄ-bytes")
	got, refusal := secret.Environ(environment("Z", "one", "A", "two", "_m", "three", "B", "one"), values)
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := []string{"A=a b=c\n\ttail  ", "B=12345678", "Z=12345678", "_m=\xff\xfeÄ-bytes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for name, a := range map[string]secret.Auth{"none": {Type: secret.TypeNone}, "zero": {}, "no variable": environment()} {
		if got, refusal := secret.Environ(a, values); got != nil || refusal != nil {
			t.Errorf("%s: got %q, %v, want nothing", name, got, refusal)
		}
	}
}

func TestUnusableVariablesAreRefused(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	headersToo := environment("A", "key")
	headersToo.Type = secret.TypeHeaders
	for _, c := range []struct {
		name   string
		auth   secret.Auth
		value  string
		reason call.Reason
		detail string
	}{
		{"missing", environment("A", "other"), "12345678", call.SecretMissing, "secret other is not set"},
		{"empty", environment("A", "key"), "", call.SecretMissing, "secret key is not set"},
		{"short", environment("A", "key"), "hunter2", call.SecretUnusable, "secret key has 7 bytes, not 8 to 32768"},
		{"long", environment("A", "key"), text(32769), call.SecretUnusable, "secret key has 32769 bytes, not 8 to 32768"},
		{"NUL", environment("A", "key"), "hunter2\x00hunter2", call.SecretUnusable, "byte 8 of secret key cannot be in an environment"},
		{"a bad name", environment("A=B", "key"), "hunter2!hunter2!", call.SecretUnusable, "variable of secret key: its byte 2 is not one of a-z A-Z 0-9 _, or is a digit at the beginning"},
		{"the relay's name", environment("RELAY_X", "key"), "hunter2!hunter2!", call.SecretUnusable, "variable of secret key: this variable belongs to the relay, to its platform or to the loader of programs"},
		{"another type", headersToo, "hunter2!hunter2!", call.SecretUnusable, `auth type "headers" sets no variables`},
	} {
		got, refusal := secret.Environ(c.auth, values("key", c.value))
		if refusal == nil || refusal.Reason != c.reason || refusal.Detail != c.detail || got != nil {
			t.Errorf("%s: got %q, %v, want %s: %s", c.name, got, refusal, c.reason, c.detail)
		}
	}
	if _, refusal := secret.Environ(environment("A", "key"), values("key", text(32768))); refusal != nil {
		t.Errorf("32768 bytes: %v", refusal)
	}
}

// Whatever is given to a child process is masked and recorded, as what is sent
// in a header is.
func TestVariablesAreMaskedAndRecorded(t *testing.T) {
	auth := environment("B", "token", "A", "basic", "C", "token")
	b, refusal := secret.Bind(auth, values("token", "12345678", "basic", "Basic dXNlcjpodW50ZXIyIWh1bnRlcjIh"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if diff := cmp.Diff([]secret.Use{{Ref: "basic", Version: "v-basic"}, {Ref: "token", Version: "v-token"}}, b.Uses()); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	var masked []string
	for _, v := range b.Values() {
		masked = append(masked, string(v.Expose()))
	}
	for _, want := range []string{"12345678", "Basic dXNlcjpodW50ZXIyIWh1bnRlcjIh", "dXNlcjpodW50ZXIyIWh1bnRlcjIh", "hunter2!hunter2!"} {
		if !slices.Contains(masked, want) {
			t.Errorf("%s is not masked: %q", want, masked)
		}
	}
	if diff := cmp.Diff([]string{"basic", "token"}, auth.References()); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if leaked := fmt.Sprintf("%v %+v %#v", b, b, b); strings.Contains(leaked, "12345678") {
		t.Errorf("a binding prints its variables: %s", leaked)
	}
}

func TestALineOfASecretIsMaskedByItself(t *testing.T) {
	lines := []string{"AAAABBBBCCCCDDDD1234", "EEEEFFFFGGGG5678=="}
	pem := "-----BEGIN PRIVATE KEY-----\n" + lines[0] + "\r\n" + lines[1] + "\n-----END PRIVATE KEY-----\n"
	b, refusal := secret.Bind(secret.Auth{Type: secret.TypeEnvironment, Environment: map[string]string{"KEY": "key"}},
		map[string]secret.Value{"key": secret.NewValue([]byte(pem), "1")})
	if refusal != nil {
		t.Fatal(refusal)
	}
	masker := redact.New(b.Values()...)
	inJSON, err := json.Marshal(map[string]string{"text": "the key is " + pem})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{[]byte(pem), inJSON, []byte(lines[0]), []byte("x" + lines[1] + "y")} {
		masked, n := masker.JSON(text)
		for _, line := range lines {
			if n == 0 || bytes.Contains(masked, []byte(line)) {
				t.Errorf("%d masked: %s", n, masked)
			}
		}
	}
}

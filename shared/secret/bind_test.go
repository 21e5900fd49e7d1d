package secret_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

func headers(pairs ...string) secret.Auth {
	a := secret.Auth{Type: secret.TypeHeaders}
	for i := 0; i < len(pairs); i += 2 {
		a.Headers = append(a.Headers, secret.Header{As: pairs[i], Ref: pairs[i+1]})
	}
	return a
}

func values(pairs ...string) map[string]secret.Value {
	m := make(map[string]secret.Value)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = secret.NewValue([]byte(pairs[i+1]), "v-"+pairs[i])
	}
	return m
}

func TestBindSendsTheValueUnchanged(t *testing.T) {
	cases := []struct {
		name  string
		auth  secret.Auth
		value string
		want  http.Header
	}{
		{"bearer", secret.Bearer("r"), "abcXYZ019-._~+/==", http.Header{"Authorization": {"Bearer abcXYZ019-._~+/=="}}},
		{"header", headers("x-api-key", "r"), "!pass word~", http.Header{"X-Api-Key": {"!pass word~"}}},
		{"authorization by hand", headers("Authorization", "r"), "Token abcdefgh", http.Header{"Authorization": {"Token abcdefgh"}}},
		{"two headers of one secret", headers("X-A", "r", "X-B", "r"), "12345678", http.Header{"X-A": {"12345678"}, "X-B": {"12345678"}}},
		{"none", secret.Auth{Type: secret.TypeNone}, "12345678", http.Header{}},
		{"zero", secret.Auth{}, "12345678", http.Header{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, refusal := secret.Bind(c.auth, values("r", c.value))
			if refusal != nil {
				t.Fatal(refusal)
			}
			got := http.Header{}
			b.Apply(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindRefusesWhatAHeaderCannotCarry(t *testing.T) {
	cases := []struct {
		name   string
		auth   secret.Auth
		value  string
		detail string // that the refusal ends in
	}{
		{"bearer with a final line feed", secret.Bearer("r"), "abcdefgh\n", "byte 9 of secret r cannot be sent as bearer"},
		{"bearer with CRLF inside", secret.Bearer("r"), "abcd\r\nHost: x", "byte 5 of secret r cannot be sent as bearer"},
		{"bearer with a leading blank", secret.Bearer("r"), " abcdefgh", "byte 1 of secret r cannot be sent as bearer"},
		{"bearer with a final blank", secret.Bearer("r"), "abcdefgh ", "byte 9 of secret r cannot be sent as bearer"},
		{"bearer with a tab", secret.Bearer("r"), "abcdefgh\tx", "byte 9 of secret r cannot be sent as bearer"},
		{"bearer with a quote", secret.Bearer("r"), "\"abcdefgh\"", "byte 1 of secret r cannot be sent as bearer"},
		{"bearer with its scheme", secret.Bearer("r"), "Bearer abcdefgh", "byte 7 of secret r cannot be sent as bearer"},
		{"bearer with NUL", secret.Bearer("r"), "abcdefgh\x00", "byte 9 of secret r cannot be sent as bearer"},
		{"bearer in UTF-8", secret.Bearer("r"), "abcdefghé", "byte 9 of secret r cannot be sent as bearer"},
		{"bearer with a byte order mark", secret.Bearer("r"), "\xef\xbb\xbfabcdefgh", "byte 1 of secret r cannot be sent as bearer"},
		{"bearer of padding", secret.Bearer("r"), "========", "byte 1 of secret r cannot be sent as bearer"},
		{"bearer with padding inside", secret.Bearer("r"), "abcd=efgh", "byte 6 of secret r cannot be sent as bearer"},
		{"header with a final line feed", headers("X-Key", "r"), "abcdefgh\n", "byte 9 of secret r cannot be sent as headers"},
		{"header with a leading blank", headers("X-Key", "r"), " abcdefgh", "byte 1 of secret r cannot be sent as headers"},
		{"header with a final blank", headers("X-Key", "r"), "abcdefgh ", "byte 9 of secret r cannot be sent as headers"},
		{"header with a tab", headers("X-Key", "r"), "abcd\tefgh", "byte 5 of secret r cannot be sent as headers"},
		{"header with DEL", headers("X-Key", "r"), "abcd\x7fefgh", "byte 5 of secret r cannot be sent as headers"},
		{"header in Latin-1", headers("X-Key", "r"), "abcd\xe9efgh", "byte 5 of secret r cannot be sent as headers"},
		{"too short to mask", secret.Bearer("r"), "abcdefg", "secret r has 7 bytes, not 8 to 8192"},
		{"too long for a head", secret.Bearer("r"), strings.Repeat("a", 8193), "secret r has 8193 bytes, not 8 to 8192"},
		{"reserved header", headers("Host", "r"), "abcdefgh", "header of secret r: this header belongs to the protocol or to the connection"},
		{"headers without a type", secret.Auth{Headers: []secret.Header{{As: "X-Key", Ref: "r"}}}, "abcdefgh", `auth type "" sends no headers`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, refusal := secret.Bind(c.auth, values("r", c.value))
			if refusal == nil {
				t.Fatal("accepted")
			}
			if refusal.Reason != call.SecretUnusable || refusal.Detail != c.detail {
				t.Errorf("got %v, want secret_unusable: %s", refusal, c.detail)
			}
			if h := (http.Header{}); true {
				b.Apply(h)
				if len(h) != 0 || len(b.Values()) != 0 {
					t.Errorf("a refused binding sends %v", h)
				}
			}
		})
	}
}

func TestBindRefusesAMissingSecret(t *testing.T) {
	for name, have := range map[string]map[string]secret.Value{
		"no values": nil, "another": values("other", "abcdefgh"), "zero": {"r": secret.Value{}}, "empty": values("r", ""),
	} {
		if _, refusal := secret.Bind(secret.Bearer("r"), have); refusal == nil || refusal.Reason != call.SecretMissing {
			t.Errorf("%s: got %v, want secret_missing", name, refusal)
		}
	}
}

func TestBindingNamesWhatWasUsed(t *testing.T) {
	b, refusal := secret.Bind(headers("X-A", "one", "X-B", "two", "X-C", "one"), values("one", "aaaaaaaa", "two", "bbbbbbbb", "three", "cccccccc"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := []secret.Use{{Ref: "one", Version: "v-one"}, {Ref: "two", Version: "v-two"}}
	if diff := cmp.Diff(want, b.Uses()); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}

func TestBindingMasksTheSecretPartsOfAValue(t *testing.T) {
	cases := []struct {
		name, value string
		want        []string
	}{
		{"one word", "abcdefgh", []string{"abcdefgh"}},
		{"scheme and secret", "Token abcdefgh", []string{"Token abcdefgh", "abcdefgh"}},
		{"basic", "Basic dXNlcjpodW50ZXIyMg==", []string{"Basic dXNlcjpodW50ZXIyMg==", "dXNlcjpodW50ZXIyMg==", "hunter22"}},
		{"basic with a short password", "Basic dXNlcjpwdw==", []string{"Basic dXNlcjpwdw==", "dXNlcjpwdw=="}},
		{"not base64", "basic ????????", []string{"basic ????????", "????????"}},
		{"short words", "aa bb cc", []string{"aa bb cc"}},
	}
	for _, c := range cases {
		b, refusal := secret.Bind(headers("Authorization", "r"), values("r", c.value))
		if refusal != nil {
			t.Fatal(refusal)
		}
		var got []string
		for _, v := range b.Values() {
			got = append(got, string(v.Expose()))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestApplyReplacesWhatWasThere(t *testing.T) {
	b, refusal := secret.Bind(secret.Bearer("r"), values("r", "abcdefgh"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	h := http.Header{"Authorization": {"Bearer of-the-agent", "twice"}, "X-Other": {"1"}}
	b.Apply(h)
	if diff := cmp.Diff(http.Header{"Authorization": {"Bearer abcdefgh"}, "X-Other": {"1"}}, h); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestReferencesAreListedOnce(t *testing.T) {
	if diff := cmp.Diff([]string{"b", "a"}, headers("X-A", "b", "X-B", "a", "X-C", "b").References()); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if refs := (secret.Auth{Type: secret.TypeNone}).References(); refs != nil {
		t.Errorf("got %v, want none", refs)
	}
}

// Whatever Bind accepts arrives at a real server byte for byte.
func TestAcceptedValuesArriveUnchanged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Key"], "|"))
	}))
	defer server.Close()
	for c := 0x20; c < 0x7f; c++ {
		value := "a" + string(rune(c)) + "bcdefgh" + string(rune(c)) + "i"
		b, refusal := secret.Bind(headers("X-Key", "r"), values("r", value))
		if refusal != nil {
			t.Fatalf("byte %#x: %v", c, refusal)
		}
		if got := send(t, server.Listener.Addr(), b); got != value {
			t.Errorf("byte %#x: got %q, want %q", c, got, value)
		}
	}
}

func send(t *testing.T, to net.Addr, b secret.Binding) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+to.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Apply(request.Header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func FuzzBind(f *testing.F) {
	for _, seed := range []string{"abcdefgh", "abcdefgh\n", " abcdefgh", "ab cd ef gh", "abcdefgh==", "====abcd", "\x00\x01\x02\x03\x04\x05\x06\x07", "é€𝄞abcd", "Basic dXNlcjpodW50ZXIyMg=="} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, bearer bool) {
		auth := headers("X-Key", "r")
		if bearer {
			auth = secret.Bearer("r")
		}
		binding, refusal := secret.Bind(auth, map[string]secret.Value{"r": secret.NewValue(b, "1")})
		if refusal != nil {
			if len(b) >= 4 && strings.Contains(refusal.Error(), string(b)) {
				t.Errorf("the refusal %q holds the value", refusal)
			}
			return
		}
		h := http.Header{}
		binding.Apply(h)
		sent := strings.TrimPrefix(h.Get("Authorization"), "Bearer ") + h.Get("X-Key")
		if sent != string(b) || strings.TrimSpace(sent) != sent || strings.ContainsFunc(sent, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("accepted %q, sent %q", b, sent)
		}
	})
}

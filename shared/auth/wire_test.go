package auth_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
)

// Over a real connection, where net/http has read the headers: the status is
// that of the refusal, and 200 with the subject otherwise.
func TestCredentialsOverTheWire(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		p, refusal := w.auth.Authenticate(r.Context(), r.Header)
		if refusal != nil {
			out.WriteHeader(refusal.Row().Status)
			return
		}
		_, _ = io.WriteString(out, p.Subject)
	}))
	defer server.Close()
	cases := []struct {
		name    string
		headers []string
		want    string
	}{
		{"bearer", []string{"Authorization: Bearer " + w.text}, "200 ci"},
		{"lower-case name", []string{"authorization: bearer " + w.text}, "200 ci"},
		{"blanks around", []string{"Authorization:    Bearer " + w.text + "  "}, "200 ci"},
		{"twice, same", []string{"Authorization: Bearer " + w.text, "Authorization: Bearer " + w.text}, "401 "},
		{"twice, other case", []string{"Authorization: Bearer " + w.text, "AUTHORIZATION: Bearer " + configured}, "401 "},
		{"underscore", []string{"Authorization_: Bearer " + w.text}, "401 "},
		{"pair", []string{"x-relay-client-id: ci", "X-RELAY-CLIENT-SECRET: " + w.text}, "200 ci"},
		{"pair, secret twice", []string{"X-Relay-Client-Id: ci", "X-Relay-Client-Secret: " + w.text, "X-Relay-Client-Secret: x"}, "401 "},
		{"none", nil, "401 "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := exchange(t, server.Listener.Addr().String(), c.headers); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// exchange sends one request with the header lines as they are.
func exchange(t *testing.T, address string, headers []string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := append([]string{"GET / HTTP/1.1", "Host: relay", "Connection: close"}, headers...)
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(response.StatusCode) + " " + string(body)
}

// Whatever the headers, only the exact token is accepted.
func FuzzAuthenticate(f *testing.F) {
	caller, err := auth.NewCaller(configured, call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser})
	if err != nil {
		f.Fatal(err)
	}
	a := auth.New(auth.Options{Callers: []auth.Caller{caller}})
	f.Add("Bearer "+configured, "", "", true)
	f.Add("", "dev", configured, false)
	f.Add("Bearer "+configured+",Bearer x", "dev", configured, true)
	f.Add("bearer  "+configured, "dev", configured, true)
	f.Fuzz(func(t *testing.T, authorization, id, secret string, both bool) {
		h := http.Header{}
		if both || authorization != "" {
			h["Authorization"] = []string{authorization}
		}
		if id != "" || secret != "" {
			h[auth.HeaderClientID], h[auth.HeaderClientSecret] = []string{id}, []string{secret}
		}
		_, refusal := a.Authenticate(t.Context(), h)
		scheme, token, _ := strings.Cut(authorization, " ")
		want := strings.EqualFold(scheme, "bearer") && token == configured
		if _, there := h["Authorization"]; !there {
			want = id == "dev" && secret == configured
		}
		if (refusal == nil) != want {
			t.Errorf("%v: got %v, want accepted %v", h, refusal, want)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	caller, err := auth.NewCaller(configured, call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser})
	if err != nil {
		b.Fatal(err)
	}
	a := auth.New(auth.Options{Callers: []auth.Caller{caller}})
	h := bearer(configured)
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := a.Authenticate(b.Context(), h); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

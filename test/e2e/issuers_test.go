package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/canary"
	"mcprelay/test/jwt"
	"mcprelay/test/netns"
)

const (
	pinnedIssuer = "https://login.example.com"
	publicURL    = "https://relay.example.com" // also the audience of every issuer here
)

// hosted is an issuer on the network: its metadata, its keys, and tokens for
// whoever asks.
type hosted struct {
	signer
	server *httptest.Server
	pool   *x509.CertPool
	ca     string // file
	asked  atomic.Int64
}

// host serves an issuer behind TLS on loopback, under a private authority.
func host(t *testing.T) *hosted {
	t.Helper()
	authority := newIssuer(t, "private authority")
	certificate, key := authority.sign(t, "login.localhost", time.Now().Add(time.Hour))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	h := &hosted{signer: signer{Key: jwt.NewKey(t)}, pool: authority.pool(), ca: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(h.ca, []byte(encode("CERTIFICATE", authority.certificate.Raw)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(h.answer(t, r))
	}))
	h.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	h.server.StartTLS()
	t.Cleanup(h.server.Close)
	h.name = strings.Replace(h.server.URL, "127.0.0.1", "login.localhost", 1)
	return h
}

func (h *hosted) answer(t *testing.T, r *http.Request) any {
	switch r.URL.Path {
	case "/keys":
		h.asked.Add(1)
		return h.Set()
	case "/token": // for the resource that the client names (RFC 8707)
		claims := h.claims("build-42").Plus(jwt.Members{"aud": r.FormValue("resource")})
		return map[string]any{"access_token": h.Sign(t, jwt.Header(), claims)}
	}
	return map[string]any{"issuer": h.name, "jwks_uri": h.name + "/keys", "token_endpoint": h.name + "/token"}
}

// get reads JSON of the issuer as a client does: by POST where there is a form.
func (h *hosted) get(t *testing.T, from string, form url.Values, into any) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: h.pool},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, h.server.Listener.Addr().String())
		},
	}}
	defer client.CloseIdleConnections()
	ask := client.Get
	if form != nil {
		ask = func(url string) (*http.Response, error) { return client.PostForm(url, form) }
	}
	response, err := ask(from)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// trusting is a relay that trusts two issuers: one whose keys are in the file,
// one that is asked for them.
type trusting struct {
	*process
	pinned       signer
	hosted       *hosted
	docs, mail   *upstream
	data         string
	alice, agent string // service tokens of the subjects alice and ci
}

func startTrusting(t *testing.T, more ...string) trusting {
	t.Helper()
	r := trusting{pinned: signer{jwt.NewKey(t), pinnedIssuer}, hosted: host(t), docs: startUpstream(t), mail: startUpstream(t), data: t.TempDir()}
	config := writeConfig(t, []server{entry("docs", r.docs.url, map[string]string{"look": "read"}), entry("mail", r.mail.url, nil)},
		[]rule{allow("mcp.docs.host.127.0.0.1"), allow("mcp.docs.tool.*"), allow("mcp.mail.host.127.0.0.1"), allow("mcp.mail.tool.*")},
		map[string]any{
			"issuers": []any{
				map[string]any{"issuer": pinnedIssuer, "audience": publicURL, "kind": "user", "keys": r.pinned.Set()},
				map[string]any{"issuer": r.hosted.name, "audience": publicURL, "kind": "trusted_issuer", "jwks_uri": r.hosted.name + "/keys",
					"algorithms": []string{"ES256"}, "subjects": map[string]string{"build-42": "ci"}},
			},
			"agents": []any{
				map[string]any{"subject": "alice", "issuer": pinnedIssuer, "servers": []string{"docs"}},
				map[string]any{"subject": "ci", "access": "read"},
			},
		})
	places := []string{"--config", config, "--data", r.data, "--allow-loopback"}
	for subject, minted := range map[string]*string{"alice": &r.alice, "ci": &r.agent} {
		out, errs, code := command(t, nil, append([]string{"tokens", "create", subject}, places...)...)
		if code != 0 {
			t.Fatalf("making a token: %s", errs)
		}
		lines := strings.Fields(out)
		*minted = lines[len(lines)-1]
	}
	r.process = serve(t, []string{"SSL_CERT_FILE=" + r.hosted.ca}, append(places, more...)...)
	return r
}

// calls calls a tool with a credential, on the plain face.
func (r trusting) calls(t *testing.T, credential, server, tool string) reply {
	t.Helper()
	return r.post(t, "/v1/servers/"+server+"/tools/"+tool, `{"arguments":{}}`, "Authorization", "Bearer "+credential)
}

// asks calls a tool with a credential, if any, at an MCP endpoint.
func (r trusting) asks(t *testing.T, credential, path, tool string) reply {
	t.Helper()
	if credential != "" {
		credential = "Bearer " + credential
	}
	return r.post(t, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{}}}`, "Authorization", credential)
}

// wantCaller compares whom the newest record names.
func (r trusting) wantCaller(t *testing.T, agent string, kind call.Kind, issuer string, reason call.Reason) {
	t.Helper()
	record := last(t, r.data)
	if record.Agent != agent || record.Kind != kind || record.Issuer != issuer || record.Reason != reason {
		t.Errorf("the record names %s %s of %q, %s; want %s %s of %q, %s", record.Kind, record.Agent, record.Issuer, record.Reason, kind, agent, issuer, reason)
	}
	if keyed := record.KeyID != ""; keyed != (issuer == "") {
		t.Errorf("the record names the service token %q beside the issuer %q", record.KeyID, issuer)
	}
}

// wantUnkept looks for claims and signatures in all that the relay wrote.
func (r trusting) wantUnkept(t *testing.T, tokens ...string) {
	t.Helper()
	written := map[string][]byte{"the log": []byte(r.stderr.String()), "the output": []byte(strings.Join(r.lines, "\n"))}
	err := fs.WalkDir(os.DirFS(r.data), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			written[path], err = os.ReadFile(filepath.Join(r.data, path))
		}
		return err
	})
	if err != nil || len(written) < 3 {
		t.Fatalf("read %d places, %v", len(written), err)
	}
	for _, token := range tokens {
		for _, part := range strings.Split(token, ".")[1:] {
			for place, text := range written {
				if part != "" && bytes.Contains(text, []byte(part)) {
					t.Errorf("%s holds %q, a part of a token", place, part)
				}
			}
		}
	}
}

func TestCallersOfIssuersCallAsWhoTheyAre(t *testing.T) {
	r := startTrusting(t)
	alice, build := r.pinned.token(t, "alice"), r.hosted.token(t, "build-42")

	wantAnswered(t, r.calls(t, alice, "docs", "write"))
	r.wantCaller(t, "alice", call.KindUser, pinnedIssuer, call.OK)
	if _, header := r.docs.last(); header.Get("Authorization") != "" {
		t.Error("the server was given the credential of the caller")
	}
	wantAnswered(t, r.calls(t, build, "docs", "look"))
	r.wantCaller(t, "ci", call.KindTrustedIssuer, r.hosted.name, call.OK)
	if body := r.asks(t, r.pinned.token(t, "bob"), "/v1/mcp", "mail__echo"); body.status != 200 || !strings.Contains(string(body.body), "structuredContent") {
		t.Errorf("somebody without an entry: %d %s", body.status, body.body)
	}
	r.wantCaller(t, "bob", call.KindUser, pinnedIssuer, call.OK)
	if got := r.hosted.asked.Load(); got != 1 {
		t.Errorf("the issuer was asked %d times for its keys, want 1", got)
	}
	r.wantUnkept(t, alice, build)
}

// The entry of alice is the issuer's alice's; that of ci is the tenant's own,
// whichever way the tenant names it.
func TestAnEntryOfAnIssuerNarrowsItsCallerAlone(t *testing.T) {
	r := startTrusting(t)
	checkProblem(t, r.calls(t, r.pinned.token(t, "alice"), "mail", "look"), 403, call.OutOfScope)
	r.wantCaller(t, "alice", call.KindUser, pinnedIssuer, call.OutOfScope)
	wantAnswered(t, r.calls(t, r.alice, "mail", "look"))
	r.wantCaller(t, "alice", call.KindServiceToken, "", call.OK)

	for credential, issuer := range map[string]string{r.agent: "", r.hosted.token(t, "build-42"): r.hosted.name} {
		kind := call.KindServiceToken
		if issuer != "" {
			kind = call.KindTrustedIssuer
		}
		checkProblem(t, r.calls(t, credential, "docs", "write"), 403, call.AccessRead)
		r.wantCaller(t, "ci", kind, issuer, call.AccessRead)
		wantAnswered(t, r.calls(t, credential, "docs", "look"))
	}
	wantAnswered(t, r.calls(t, r.pinned.token(t, "ci"), "docs", "write")) // another ci
	r.wantCaller(t, "ci", call.KindUser, pinnedIssuer, call.OK)
	if got := r.mail.calls.Load(); got != 1 {
		t.Errorf("the other server saw %d calls, want 1", got)
	}
}

// forgeries are tokens that are each wrong in one way.
func forgeries(t *testing.T, r trusting) map[string]string {
	t.Helper()
	p, stranger := r.pinned, signer{jwt.NewKey(t), pinnedIssuer}
	now := time.Now().Unix()
	with := func(m jwt.Members) string { return p.Sign(t, jwt.Header(), p.claims("alice").Plus(m)) }
	headed := func(m jwt.Members) string { return p.Sign(t, jwt.Header().Plus(m), p.claims("alice")) }
	parts, others := strings.Split(p.token(t, "alice"), "."), strings.Split(p.token(t, "bob"), ".")
	return map[string]string{
		"expired":                       with(jwt.Members{"iat": now - 600, "exp": now - 1}),
		"for another audience":          with(jwt.Members{"aud": "https://other.example.com"}),
		"for two audiences":             with(jwt.Members{"aud": []string{publicURL, "https://other.example.com"}}),
		"of an issuer nobody trusts":    with(jwt.Members{"iss": "https://evil.example.com"}),
		"of an issuer with other keys":  with(jwt.Members{"iss": r.hosted.name, "sub": "build-42"}),
		"for two days":                  with(jwt.Members{"exp": now + 2*86400}),
		"an ID token":                   with(jwt.Members{"nonce": "n"}),
		"signed by a stranger":          stranger.token(t, "alice"),
		"that brings its own key":       stranger.Sign(t, jwt.Header().Plus(jwt.Members{"jwk": stranger.Set()["keys"].([]any)[0]}), p.claims("alice")),
		"that says where its key is":    headed(jwt.Members{"jku": r.hosted.name + "/keys"}),
		"of nobody the tenant mapped":   r.hosted.token(t, "build-43"),
		"tampered":                      parts[0] + "." + others[1] + "." + parts[2],
		"unsigned":                      jwt.Segment(t, jwt.Members{"alg": "none"}) + "." + parts[1] + ".",
		"unsigned, with a signature":    headed(jwt.Members{"alg": "none"}),
		"keyed with what is public":     p.Confused(t, p.claims("alice")),
		"signed, and said to be shared": headed(jwt.Members{"alg": "HS256"}),
	}
}

// TestForgedTokensComeNowhere wants of each 401, and where to get a good one.
func TestForgedTokensComeNowhere(t *testing.T) {
	r := startTrusting(t)
	const path = "/v1/servers/docs/mcp"
	var all []string
	for name, token := range forgeries(t, r) {
		all = append(all, token)
		got := r.asks(t, token, path, "look")
		challenge := got.header.Get("WWW-Authenticate")
		if got.status != 401 || !strings.Contains(string(got.body), `"reason":"unauthenticated"`) || !strings.HasPrefix(challenge, `Bearer realm="mcprelay", error="invalid_token"`) {
			t.Errorf("a token %s: got %d %s, %s", name, got.status, challenge, got.body)
		}
		if link := linked(t, challenge); link != r.url+"/.well-known/oauth-protected-resource"+path {
			t.Errorf("a token %s: the challenge leads to %s", name, link)
		}
		checkProblem(t, r.calls(t, token, "docs", "look"), 401, call.Unauthenticated)
	}
	if got := r.docs.all.Load(); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
	if got := len(whole(t, r.data)); got != 0 {
		t.Errorf("forgers left %d records, want 0", got)
	}
	if !strings.Contains(r.stderr.String(), "the algorithm of the token is not one of its issuer's") {
		t.Errorf("the log does not say what was wrong: %s", r.stderr)
	}
	r.wantUnkept(t, all...)
	wantAnswered(t, r.calls(t, r.pinned.token(t, "alice"), "docs", "look"))
}

// linked is where a challenge says that the metadata is (RFC 9728 section 5.1).
func linked(t *testing.T, challenge string) string {
	t.Helper()
	_, rest, _ := strings.Cut(challenge, `resource_metadata="`)
	link, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("the challenge %q leads nowhere", challenge)
	}
	return link
}

// A client that knows nothing but the URL of an MCP endpoint finds out who
// gives tokens for it, gets one for this endpoint, and can use it there alone.
func TestAClientFindsItsWayToATokenFromARefusal(t *testing.T) {
	r := startTrusting(t, "--public-url", publicURL)
	const path = "/v1/servers/docs/mcp"
	refused := r.asks(t, "", path, "look")
	at, ok := strings.CutPrefix(linked(t, refused.header.Get("WWW-Authenticate")), publicURL)
	if refused.status != 401 || !ok {
		t.Fatalf("got %d %s", refused.status, refused.header.Get("WWW-Authenticate"))
	}
	var metadata struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if got := r.do(t, "GET", at, ""); json.Unmarshal(got.body, &metadata) != nil || metadata.Resource != publicURL+path {
		t.Fatalf("the metadata are %d %s", got.status, got.body)
	}
	if !slices.Equal(metadata.Servers, []string{pinnedIssuer, r.hosted.name}) {
		t.Fatalf("the metadata name %q", metadata.Servers)
	}
	var authority struct {
		Issuer string
		Token  string `json:"token_endpoint"`
	}
	r.hosted.get(t, metadata.Servers[1]+"/.well-known/oauth-authorization-server", nil, &authority)
	var granted struct {
		Token string `json:"access_token"`
	}
	r.hosted.get(t, authority.Token, url.Values{"resource": {metadata.Resource}}, &granted)
	if got := r.asks(t, granted.Token, path, "look"); got.status != 200 || !strings.Contains(string(got.body), "structuredContent") {
		t.Errorf("with the token: %d %s", got.status, got.body)
	}
	r.wantCaller(t, "ci", call.KindTrustedIssuer, authority.Issuer, call.OK)
	for _, elsewhere := range []string{"/v1/mcp", "/v1/servers/mail/mcp"} {
		if got := r.asks(t, granted.Token, elsewhere, "look"); got.status != 401 {
			t.Errorf("at %s: %d %s", elsewhere, got.status, got.body)
		}
	}
	checkProblem(t, r.calls(t, granted.Token, "docs", "look"), 401, call.Unauthenticated)
	r.wantUnkept(t, granted.Token)
}

// Keys are read at public addresses only: whoever may register an issuer may
// not make the relay ask its own network.
func TestKeysAtPrivatePlacesAreNeverRead(t *testing.T) {
	hosts := "127.0.0.1 localhost\n127.0.0.1 loop.example.com\n10.77.0.2 inside.example.com\n"
	o := netns.Options{Hosts: hosts, Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.2/24")}}
	netns.Run(t, o, func(t *testing.T) {
		canaries := []*canary.Canary{canary.Listen(t, "127.0.0.1:443"), canary.Listen(t, "10.77.0.2:443")}
		var issuers []any
		names := []string{"https://loop.example.com", "https://inside.example.com"}
		for _, name := range names {
			issuers = append(issuers, map[string]any{"issuer": name, "audience": publicURL, "kind": "user", "jwks_uri": name + "/keys"})
		}
		config := writeConfig(t, []server{}, []rule{}, map[string]any{"issuers": issuers})
		for _, more := range [][]string{nil, {"--allow-loopback"}} {
			data := t.TempDir()
			relay := serve(t, nil, append([]string{"--config", config, "--data", data}, more...)...)
			for _, name := range names {
				token := signer{jwt.NewKey(t), name}.token(t, "alice")
				got := relay.post(t, "/v1/mcp", `{}`, "Authorization", "Bearer "+token)
				if got.status != 503 || !strings.Contains(string(got.body), `"reason":"auth_unavailable"`) || got.header.Get("Retry-After") == "" {
					t.Errorf("%s %v: got %d %s", name, more, got.status, got.body)
				}
			}
			if got := len(whole(t, data)); got != 0 {
				t.Errorf("%d records of nobody, want 0", got)
			}
		}
		wantNoHits(t, canaries)
	})
}

package forwarder_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcprelay/test/bench/forwarder"
)

// target answers with what it got.
func target(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Answer", "kept")
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Mcp-Name"), body)
}

func send(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Name", "echo")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestRequestAndAnswerPassAsTheyAre(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(target))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(target))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for name, url := range map[string]string{"plain": plain.URL, "tls": secure.URL} {
		t.Run(name, func(t *testing.T) {
			front := httptest.NewServer(forwarder.New(url, roots))
			defer front.Close()
			resp := send(t, front.URL)
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if want := "POST echo body"; resp.StatusCode != http.StatusTeapot || string(body) != want || resp.Header.Get("X-Answer") != "kept" {
				t.Errorf("got %d %q %v, want 418 %q and the header", resp.StatusCode, body, resp.Header, want)
			}
		})
	}
}

func TestATargetThatIsAwayIsABadGateway(t *testing.T) {
	away := httptest.NewServer(nil)
	away.Close()
	front := httptest.NewServer(forwarder.New(away.URL, nil))
	defer front.Close()
	if got := send(t, front.URL).StatusCode; got != http.StatusBadGateway {
		t.Errorf("got %d, want 502", got)
	}
}

func TestACertificateOfAStrangerIsABadGateway(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(target))
	defer secure.Close()
	front := httptest.NewServer(forwarder.New(secure.URL, x509.NewCertPool()))
	defer front.Close()
	if got := send(t, front.URL).StatusCode; got != http.StatusBadGateway {
		t.Errorf("got %d, want 502", got)
	}
}

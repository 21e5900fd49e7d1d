package authority_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crypto/tls"

	"mcprelay/test/bench/authority"
)

func TestTheAuthorityVouchesForTheServer(t *testing.T) {
	files, err := authority.Make(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	if server.TLS, err = authority.Server(files.Cert, files.Key); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	defer server.Close()
	roots, err := authority.Roots(files.Roots)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatalf("with the authority: %v", err)
	}
	resp.Body.Close()
	other, err := authority.Make(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if roots, err = authority.Roots(other.Roots); err != nil {
		t.Fatal(err)
	}
	client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	if _, err := client.Get(server.URL); err == nil {
		t.Error("want an error with another authority of the same name")
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	files, err := authority.Make(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{files.Roots, files.Cert, files.Key} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s: got mode %o, want 600", filepath.Base(name), got)
		}
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{empty, empty + ".missing"} {
		if _, err := authority.Roots(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("roots: got %v, want an error that names %s", err, name)
		}
		if _, err := authority.Server(name, name); err == nil {
			t.Errorf("server: want an error for %s", name)
		}
	}
	if pool, err := authority.Roots(""); pool != nil || err != nil {
		t.Errorf("got %v and %v, want the system's roots for no name", pool, err)
	}
	if _, err := authority.Make(empty, time.Now()); err == nil {
		t.Error("want an error where the folder is a file")
	}
}

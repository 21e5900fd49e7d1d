// Package forwarder is the yardstick: the least that a relay over net/http
// must do. It reads the body, posts it, and copies the answer.
//
// It promises nothing else, and it refuses nothing: no policy, no checks, no
// record.
package forwarder

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
)

// idle is the number of connections kept for the next request, enough for
// every client that the bench knows.
const idle = 64

// New makes a handler that posts everything to target. Roots may be nil.
func New(target string, roots *x509.CertPool) http.Handler {
	transport := &http.Transport{
		MaxIdleConnsPerHost: idle,
		DisableCompression:  true,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, target, bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		out.Header = r.Header
		in, err := transport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer in.Body.Close()
		for name, values := range in.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(in.StatusCode)
		_, _ = io.Copy(w, in.Body) // nobody is left to tell
	})
}

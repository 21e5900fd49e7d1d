package clients_test

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"time"
)

// probeBudget is more than an answer from memory needs on a busy machine, and
// less than a client waits before it gives up.
const probeBudget = 5 * time.Second

// Clients look for an authorization server before, or in spite of, the token
// that they were given (RFC 9728, section 3.1, and RFC 8414, section 3.1).
func TestProbesForOAuthEndAtOnceWith404(t *testing.T) {
	r := startRelay(t, map[string]any{
		"tenant":  "acme",
		"callers": []any{map[string]any{"subject": "dev", "kind": "user", "scopes": []string{"call"}, "token_env": "CLIENTS_TOKEN"}},
	})
	var paths []string
	for _, document := range []string{"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"} {
		for _, endpoint := range []string{"", "/v1/mcp", "/v1/servers/every/mcp"} {
			paths = append(paths, "/.well-known/"+document+endpoint)
		}
	}
	paths = append(paths, "/v1/mcp/.well-known/openid-configuration", "/v1/servers/every/mcp/.well-known/openid-configuration", "/authorize")
	for _, path := range paths {
		for name, value := range map[string]string{"nobody": "", "the caller": "Bearer " + token} {
			t.Run(name+" "+path, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), probeBudget)
				defer cancel()
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", value)
				response, err := http.DefaultTransport.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
				if response.StatusCode != http.StatusNotFound || !strings.HasSuffix(media, "json") || !json.Valid(body) {
					t.Errorf("got %d %s %s, want 404 and JSON", response.StatusCode, media, body)
				}
			})
		}
	}
}

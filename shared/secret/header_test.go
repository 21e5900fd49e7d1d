package secret_test

import (
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/secret"
)

func TestHeaderNamesAnOperatorMayUse(t *testing.T) {
	for _, name := range []string{
		"Authorization", "authorization", "X-Api-Key", "x-api-key", "X_Api_Key", "Api-Key", "DD-API-KEY", "PRIVATE-TOKEN",
		"X-Forwarded", "Xmcp-Key", "Mcp", "X-Amzon-Key", "Host-Key", "A", "!#$%&'*+-.^_`|~0", strings.Repeat("a", 64),
	} {
		if err := secret.HeaderName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestHeaderNamesOfTheProtocolAreRefused(t *testing.T) {
	for _, name := range []string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade",
		"Proxy-Authorization", "Proxy-Connection", "Expect", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via",
		"Cookie", "Accept", "Accept-Encoding", "Content-Type", "Content-Encoding", "Mcp-Session-Id", "MCP-Protocol-Version",
		"Mcp-Method", "Mcp-Param-X", "Idempotency-Key", "X-Idempotency-Key", "X-Amz-Date", "X-Amzn-Trace-Id",
	} {
		for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name), http.CanonicalHeaderKey(name), strings.ReplaceAll(name, "-", "_")} {
			if secret.HeaderName(spelled) == nil {
				t.Errorf("%q is accepted", spelled)
			}
		}
	}
}

func TestHeaderNamesThatAreNoTokensAreRefused(t *testing.T) {
	for _, name := range []string{"", " ", "X Key", "X-Key ", " X-Key", "X-Key:", "X-Key\r\nHost", "X-Kéy", "X-Key\x00", "X(Key)", "X/Key", strings.Repeat("a", 65)} {
		if secret.HeaderName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

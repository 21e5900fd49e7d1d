package front

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"mcprelay/shared/call"
)

// document describes every public path (OpenAPI 3.1). Its closed sets are kept
// equal to those of package call by test/openapi.
//
//go:embed openapi.json
var document string

// documentTag is the document's entity tag (RFC 9110, 8.8.3).
var documentTag = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(document))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
})

// serveOpenAPI is GET /v1/openapi.json, for anybody: it says nothing of a
// tenant.
func (f *Front) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		f.Refuse(w, r, &call.Refusal{Reason: call.MethodNotAllowed, Allow: "GET, HEAD"})
		return
	}
	header := w.Header()
	header.Set("ETag", documentTag())
	header.Set("Cache-Control", "no-cache") // kept, and asked for by its tag each time
	if named(r.Header.Values("If-None-Match"), documentTag()) {
		writeHead(w, http.StatusNotModified)
		return
	}
	if r.Method == http.MethodHead {
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(document)))
		w.WriteHeader(http.StatusOK)
		return
	}
	writeBytes(w, http.StatusOK, "application/json", []byte(document))
}

// named reports whether an If-None-Match names a tag, compared weakly
// (RFC 9110, 13.1.2). The tag has no comma, so that splitting is safe.
func named(values []string, tag string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

package endpoint

import (
	"net/url"
	"path"
	"strings"
)

// maxText bounds an endpoint, in bytes: longer ones are attacks or mistakes,
// and front ends commonly stop at 8 KiB for the whole head.
const maxText = 2048

// checkText applies the rules about the bytes, before any parser sees them.
func checkText(s string, o Options) string {
	if len(s) > maxText {
		return ruleLength
	}
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7e || c == '\\' {
			return ruleByte
		}
	}
	if strings.HasPrefix(s, "https://") || o.Loopback && strings.HasPrefix(s, "http://") {
		return ""
	}
	return ruleScheme
}

// checkPath applies the rules about the path: empty, or clean and without
// escapes, so that no two endpoints name one place.
func checkPath(u *url.URL) string {
	p := u.Path
	if p == "" {
		return ""
	}
	clean := path.Clean(p)
	if p != clean && p != clean+"/" || strings.Contains(p, "//") {
		return rulePath
	}
	if u.RawPath != "" || u.EscapedPath() != p {
		return rulePath
	}
	return ""
}

// checkQuery applies the rules about the query: after a path, not empty, valid
// escapes, no credential.
func checkQuery(u *url.URL) string {
	if u.RawQuery == "" && !u.ForceQuery {
		return ""
	}
	if u.Path == "" {
		return ruleQueryNoPath
	}
	if u.RawQuery == "" {
		return ruleQuery
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return ruleQuery
	}
	for name := range values {
		if secretName(name) {
			return ruleQuerySecret
		}
	}
	return ""
}

// secretName reports whether a query parameter of that name usually carries a
// credential, in any casing and with any separators: apiKey, api_key,
// x-api-key, tavilyApiKey, X-Amz-Security-Token.
func secretName(name string) bool {
	name = strings.ToLower(name)
	name = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name)
	switch name {
	case "key", "sig", "auth", "authorization", "bearer", "jwt", "pwd", "pass", "passphrase":
		return true
	}
	for _, end := range []string{
		"apikey", "accesskey", "secretkey", "privatekey", "subscriptionkey", "token",
		"secret", "password", "passwd", "signature", "credential", "credentials",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

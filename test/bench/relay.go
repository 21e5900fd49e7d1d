package main

import (
	"strings"

	"mcprelay/test/bench/upstream"
)

// credentialEnv holds the credential that the relay sends upstream.
const credentialEnv = "MCPRELAY_BENCH_CREDENTIAL"

const serverEntry = `{
    "name": "NAME",
    "config": {
      "endpoint": "URL",
      "allowed_endpoints": ["URL"],
      "auth": AUTH,
      "effects": {"` + upstream.Classified + `": "read"}
    },
    "secrets": SECRETS
  }`

const configText = `{
  "tenant": "bench",
  "servers": [SERVERS],
  "rules": [
    {"action": "mcp.plain.host.127.0.0.1", "decision": "allow"},
    {"action": "mcp.plain.tool.*", "decision": "allow"},
    {"action": "mcp.tls.host.127.0.0.1", "decision": "allow"},
    {"action": "mcp.tls.tool.*", "decision": "allow"},
    {"action": "secret.use.*", "decision": "allow", "to": ["mcp.plain.*", "mcp.tls.*"]}
  ],
  "callers": [{"subject": "load", "kind": "user", "scopes": ["call"], "token_env": "` + tokenEnv + `"}]
}
`

// relayConfig registers the upstream twice, under its plain and its TLS URL.
func relayConfig(a addresses, credential bool) []byte {
	entry := func(name, url string) string {
		auth, secrets := `{"type": "none"}`, `{}`
		if credential {
			auth = `{"type": "bearer", "token_ref": "` + name + `-credential"}`
			secrets = `{"` + name + `-credential": "` + credentialEnv + `"}`
		}
		return strings.NewReplacer("NAME", name, "URL", url, "AUTH", auth, "SECRETS", secrets).Replace(serverEntry)
	}
	return []byte(strings.Replace(configText, "SERVERS", entry("plain", a.Plain)+", "+entry("tls", a.TLS), 1))
}

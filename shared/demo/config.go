package demo

import (
	"encoding/json"
	"net/url"
	"strings"
)

// The tools that change nothing are reads; fail stands for a write, so that a
// tour shows an intent as well.
const configText = `{
  "tenant": "local",
  "servers": [{
    "name": "demo",
    "config": {
      "endpoint": {URL},
      "allowed_endpoints": [{URL}],
      "auth": {"type": "none"},
      "allowed_tools": ["echo", "add", "countdown", "fail"],
      "effects": {"echo": "read", "add": "read", "countdown": "read", "fail": "write"},
      "source_description": "The relay's own demo server."
    }
  }],
  "rules": [
    {"action": "mcp.demo.host.{HOST}", "decision": "allow"},
    {"action": "mcp.demo.tool.*", "decision": "allow"}
  ]
}
`

// Config is the relay's config file for a demo server at endpoint, as given by
// [Server.URL]. The relay must run with loopback endpoints allowed.
func Config(endpoint string) []byte {
	host := ""
	if u, err := url.Parse(endpoint); err == nil {
		host = u.Hostname()
	}
	quoted, _ := json.Marshal(endpoint) // a string always encodes
	return []byte(strings.NewReplacer("{URL}", string(quoted), "{HOST}", host).Replace(configText))
}

package demo

import (
	"bytes"
	"net/url"
	"text/template"
)

// The tools that change nothing are reads; fail stands for a write, so that a
// tour shows an intent as well.
const configText = `{
  "tenant": "local",
  "servers": [{
    "name": "{{.Name}}",
    "config": {
      "endpoint": "{{.URL}}",
      "allowed_endpoints": ["{{.URL}}"],
      "auth": {"type": "none"},
      "allowed_tools": ["echo", "add", "countdown", "fail"],
      "effects": {"echo": "read", "add": "read", "countdown": "read", "fail": "write"},
      "source_description": "The relay's own demo server."
    }
  }],
  "rules": [
    {"action": "mcp.{{.Name}}.host.{{.Host}}", "decision": "allow"},
    {"action": "mcp.{{.Name}}.tool.*", "decision": "allow"}
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
	var out bytes.Buffer
	// Writing to a buffer does not fail, and the text above is fixed.
	_ = template.Must(template.New("config").Parse(configText)).
		Execute(&out, map[string]string{"Name": Name, "URL": endpoint, "Host": host})
	return out.Bytes()
}

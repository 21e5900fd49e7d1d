package catalog

// TemplateURI is the URI template under which a server's is offered beside
// those of other servers.
func TemplateURI(server, template string) (string, error) { return template, nil }

// SplitTemplate is the exact inverse of [TemplateURI].
func SplitTemplate(shown string) (server, template string, ok bool) { return "", "", false }

// Expanded maps an expansion of [TemplateURI] to the same expansion of the
// server's own template.
func Expanded(shown, template string) (uri string, ok bool) { return "", false }

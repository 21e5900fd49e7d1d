package catalog

// ResourceURI is the URI under which a server's resource is offered beside
// those of other servers.
func ResourceURI(server, uri string) string { return uri }

// SplitResource is the exact inverse of [ResourceURI].
func SplitResource(shown string) (server, uri string, ok bool) { return "", "", false }

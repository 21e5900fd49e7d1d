package catalog

import "strings"

// Shown is the name under which a server's tool or prompt is offered beside
// those of other servers.
func Shown(server, name string) string { return server + "__" + name }

// Split takes a name apart that [Shown] made, at the first "__".
func Split(shown string) (server, rest string, ok bool) { return strings.Cut(shown, "__") }

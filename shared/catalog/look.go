package catalog

import "strings"

// Shortened reports whether a name looks as [Shown] makes it where it had to
// change it: then only the server's list can tell what stands for what.
func Shortened(shown string) bool {
	at := len(shown) - digestSize - 1
	return at >= 0 && shown[at] == '_' && strings.Trim(shown[at+1:], "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// digestSize is how many characters of a digest end a name that was changed.
const digestSize = 10

// ResourceServer is the server of a URI that [ResourceURI] made, or that is an
// expansion of what [TemplateURI] made.
func ResourceServer(shown string) (server string, ok bool) {
	rest, ok := strings.CutPrefix(shown, resourcePrefix)
	if !ok {
		return "", false
	}
	server, _, ok = strings.Cut(rest, "/")
	return server, ok && server != ""
}

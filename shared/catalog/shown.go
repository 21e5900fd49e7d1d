package catalog

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// between stands between a server and what it offers. The name of a server
	// holds no underscore, so that the first one ends it.
	between = "__"
	// maxShown bounds the name of a tool or prompt among those of all servers:
	// what the strictest of the common model APIs take, in [A-Za-z0-9_-].
	maxShown = 64
	// digits of SHA-256 tell shortened names apart. Two of one server's names,
	// out of ten thousand, share them in one server of twenty million.
	digits = 10
)

// Shown is the name under which the tool or prompt of a server is offered
// beside those of others: "<server>__<name>" where that has at most 64
// characters, all in [A-Za-z0-9_-]. Else each other character of the name
// becomes "_", the name is cut, and "_" and ten digits of its SHA-256 are its
// end, in lower-case base32. A name that looks shortened already is shortened
// as well, so that no server can have one that was made of another. The prefix
// is never cut; server must be the name of one, at most 32 characters.
func Shown(server, name string) string {
	prefix := server + between
	head := strings.Map(portable, name)
	if head == name && name != "" && len(prefix)+len(name) <= maxShown && !Shortened(name) {
		return prefix + name
	}
	tail := "_" + sum(name)
	room := max(maxShown-len(prefix)-len(tail), 0)
	return prefix + head[:min(room, len(head))] + tail
}

// Split takes a shown name apart at the first "__". What follows is a name's
// shown form, which belongs to the tool or prompt of which [Shown] makes it.
func Split(shown string) (server, rest string, ok bool) {
	server, rest, ok = strings.Cut(shown, between)
	if !ok || server == "" || rest == "" {
		return "", "", false
	}
	return server, rest, true
}

// portable is the character that stands for r in a shown name.
func portable(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
		return r
	}
	return '_'
}

// sum is the digits of a name. There is a numeral among them, by which they
// are told from the words that end so many names; where SHA-256 gives none, it
// is taken again of itself.
func sum(name string) string {
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	for hash := sha256.Sum256([]byte(name)); ; hash = sha256.Sum256(hash[:]) {
		found := strings.ToLower(encoding.EncodeToString(hash[:]))[:digits]
		if strings.ContainsAny(found, numerals) {
			return found
		}
	}
}

// numerals are the digits of base32 that are no letters.
const numerals = "234567"

// Shortened reports whether a name ends as those do that [Shown] had to change:
// then only the server's list can tell what it stands for.
func Shortened(name string) bool {
	at := len(name) - digits
	if at < 1 || name[at-1] != '_' {
		return false
	}
	tail := name[at:]
	return strings.Trim(tail, "abcdefghijklmnopqrstuvwxyz"+numerals) == "" && strings.ContainsAny(tail, numerals)
}

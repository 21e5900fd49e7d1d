package session

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Key names a stored [State]. It is a digest, so it tells a reader of the
// store nothing about the caller, and a caller cannot choose another's.
type Key string

// Parts are what isolates one upstream session from another: two calls share
// a session only where all six are equal. Grant is the credential reference
// or the account link, not the version of its value: a rotated token keeps
// the session. Run is empty where the caller named none.
type Parts struct {
	Tenant    string
	Server    string
	Endpoint  string
	Grant     string
	Principal string
	Run       string
}

// KeyOf is the key of the session that p describes.
func KeyOf(p Parts) Key {
	return digest("S#", p.Tenant, p.Server, p.Endpoint, p.Grant, p.Principal, p.Run)
}

// OriginKey is the key of the era verdict about a server: a property of the
// server as registered, whoever calls it. The tenant is part of it, so that
// one tenant's registration never tells another's anything.
func OriginKey(tenant, server, endpoint string) Key {
	return digest("O#", tenant, server, endpoint)
}

// digest hashes length-prefixed parts, so that no two lists of parts run
// together into the same bytes. The kind keeps verdicts and sessions apart.
func digest(kind string, parts ...string) Key {
	buf := make([]byte, 0, 512)
	for _, part := range parts {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return Key(kind + base64.RawURLEncoding.EncodeToString(sum[:]))
}

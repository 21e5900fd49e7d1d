package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Digest is the SHA-256, in hex, of what a descriptor says: the same for
// members in another order, for other blanks and other escapes, another one
// for any other value. That is the canonical form of RFC 8785, but with numbers
// as they are written: as doubles, 2^53 and 2^53+1 would be one. A
// descriptor that has no canonical form, because a name is there twice or a
// text holds a lone surrogate, is taken byte by byte.
func Digest(descriptor json.RawMessage) string {
	canonical := jsontext.Value(slices.Clone(descriptor))
	if canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		canonical = jsontext.Value(descriptor)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// ToolsDigest is the SHA-256, in hex, of the names and the digests of all tools
// of c, in whatever order the server gave them; empty where it has none.
func (c Catalog) ToolsDigest() string {
	if len(c.Tools) == 0 {
		return ""
	}
	tools := slices.SortedFunc(slices.Values(c.Tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	var buf []byte
	for _, tool := range tools {
		for _, part := range []string{tool.Name, tool.Digest} {
			// The lengths keep two lists from running into the same bytes.
			buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
			buf = append(buf, part...)
		}
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

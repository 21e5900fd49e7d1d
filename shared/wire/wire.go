// Package wire reads and writes what the relay and its peers say to each
// other: JSON-RPC messages, event streams, and the headers that repeat parts
// of a message.
//
// It promises that a message is read strictly and only one way: duplicate
// names, case variants of reserved names, invalid UTF-8, depth beyond
// [MaxDepth], objects of more than [MaxMembers] members and trailing data are
// refused, so that no reader behind the relay can see another message than
// the one policy saw. Arguments, results, ids and errors are slices of the
// bytes that were read; nothing is decoded and encoded again.
//
// It refuses to interpret: which methods exist, who may call them and which
// version is spoken is decided elsewhere. Its error texts hold positions and
// names of the protocol, never bytes of a peer.
package wire

// The bounds of a message. They hold for requests and replies alike; the size
// of a reply is its reader's concern.
const (
	MaxBody    = 1 << 20  // bytes of a request (SECURITY 4.7)
	MaxDepth   = 64       // nested arrays and objects (SECURITY 4.7)
	MaxMembers = 10_000   // names in one object: far over any tool's schema, far under what slows a reader
	MaxID      = 1024     // bytes of a JSON-RPC id: peers use UUIDs and counters, and ids are echoed into every error
	MaxState   = 64 << 10 // bytes of a requestState: a server's own state, sealed and in base64, a sixteenth of a body
)

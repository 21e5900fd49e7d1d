package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// maxPart is the longest name that stands in a key as it is; a partition key
// may have 2,048 bytes. Of a longer one its SHA-256 does.
const maxPart = 256

// partition joins the parts of a partition key. Names cannot forge the border
// between two parts.
func partition(parts ...string) string { return strings.Join(parts, "#") }

// escaper takes the border, and the marks of escapes and digests, out of names.
var escaper = strings.NewReplacer("%", "%25", "#", "%23", "~", "%7E")

// name is a name as a part of a key.
func name(s string) string {
	s = escaper.Replace(strings.ToValidUTF8(s, "%FF"))
	if len(s) <= maxPart {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "~" + hex.EncodeToString(sum[:])
}

// shardOf is the shard of a call.
func shardOf(callID string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(callID))
	return strconv.Itoa(int(h.Sum32() % Shards))
}

// The periods that partitions are cut into.
const (
	day   = "2006-01-02"
	month = "2006-01"
)

// keysOf are the key attributes of a record. Day and month are those of the
// call id, so that intent and final meet in one item.
func keysOf(r audit.Record, id ulid.ULID) map[string]string {
	at, shard, tenant := ulid.Time(id.Time()).UTC(), shardOf(r.CallID), name(r.Tenant)
	keys := map[string]string{
		attrPK: partition("T", tenant, at.Format(day), shard),
		attrSK: r.CallID,
	}
	if r.Agent != "" {
		keys[attrAgentPK] = partition("T", tenant, "A", name(r.Agent), at.Format(month), shard)
	}
	if r.Server != "" {
		keys[attrServerPK] = partition("T", tenant, "S", name(r.Server), at.Format(month), shard)
	}
	if r.Run != "" {
		keys[attrRunPK] = partition("T", tenant, "R", name(r.Run), shard)
	}
	switch {
	case r.State == audit.StateIntent:
		keys[attrOpenPK] = partition("O", shard)
	case denied(r):
		keys[attrDenyPK] = partition("T", tenant, "D", at.Format(month), shard)
	}
	return keys
}

// denied reports whether a final belongs to what was not allowed. The outcome
// is asked as well, since that is what the index is searched for.
func denied(r audit.Record) bool {
	return r.Decision != call.Allow || r.Outcome == call.RefusedByPolicy
}

// lowest is the least call id of a time.
func lowest(at time.Time) string {
	var id ulid.ULID
	if at.UnixMilli() > 0 {
		// Fails only for the year 10889 and later.
		_ = id.SetTime(ulid.Timestamp(at))
	}
	return id.String()
}

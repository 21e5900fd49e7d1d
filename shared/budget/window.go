package budget

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcprelay/shared/call"
)

// skew is how far two clocks may be apart: a window is remembered for that long
// after its end, for the process whose clock is behind.
const skew = 10 * time.Minute

// window is one window of time, in seconds since 1970.
type window struct{ begins, length int64 }

// windowOf is the window of a limit that a time is in.
func windowOf(l Limit, now time.Time) (window, error) {
	if l.Window < time.Second || l.Window > Day || l.Window%time.Second != 0 {
		return window{}, fmt.Errorf("a limit for every %v", l.Window)
	}
	length, at := int64(l.Window/time.Second), now.Unix()
	return window{at - at%length, length}, nil
}

// ends is the first moment after the window.
func (w window) ends() time.Time { return time.Unix(w.begins+w.length, 0) }

// forgotten is when its count is not needed any more.
func (w window) forgotten() time.Time { return w.ends().Add(skew) }

// key is where the window's count of a name is kept. The name is in it as a
// digest, so that no name is too long and a reader of the store learns none.
func (w window) key(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.Join([]string{
		"B#" + base64.RawURLEncoding.EncodeToString(sum[:]),
		strconv.FormatInt(w.length, 10), strconv.FormatInt(w.begins, 10),
	}, "#")
}

// maxRetryAfter bounds what an agent is told to wait, in seconds.
const maxRetryAfter = 3600

// refusal says that the window has all the calls of its limit.
func (w window) refusal(l Limit, now time.Time) *call.Refusal {
	refusal := call.Refuse(call.OverBudget, "%d calls in %v", max(l.Max, 0), l.Window)
	left := w.ends().Sub(now)
	refusal.RetryAfter = int(min((left+time.Second-1)/time.Second, maxRetryAfter))
	return refusal
}

// Of is the name that a class of a tenant's budgets is counted by.
func Of(tenant, class string) string { return join("class", tenant, class) }

// OfTool is the name that the calls of one tool are counted by.
func OfTool(tenant, server, tool string) string { return join("tool", tenant, server, tool) }

// join puts parts together so that no two lists of them are one name.
func join(parts ...string) string {
	var buf []byte
	for _, part := range parts {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	return string(buf)
}

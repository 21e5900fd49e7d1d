package local

// recent is how many calls are remembered at least after they are in SQLite:
// about a second of a busy relay, and 2 MB. A final that comes later asks
// SQLite for its intent, which takes 45 µs; beside another process that writes,
// 100.
const recent = 8192

// key names a call.
type key struct{ tenant, call string }

// known is what this process has written of recent calls, so that a record
// need not ask SQLite whether its call is new.
//
// A call id holds the time at which it was minted, and 80 random bits. The
// relay mints it and writes its records in one process, so nobody else writes
// of it unless he read of it: in SQLite, or in the journal of the process that
// lives. Hence of an id minted at horizon or later what is remembered here is
// everything, where horizon is later than
//
//   - the opening of the folder: what is older may stand in SQLite;
//   - the latest id that was forgotten here;
//   - the last moment at which another process had a journal in the folder.
//
// Of any other id the journals of others and SQLite are asked as well. Two
// processes that finish one call in the same instant are found out when the
// later one's journal is folded; the first final stays.
type known struct {
	young, old             map[key]state // old: not written to for one turn
	latestYoung, latestOld uint64        // latest id in each, in milliseconds since 1970
	horizon                uint64
	forgotten              int // counts what is forgotten
}

// find gives what is remembered of a call, and whether that is everything.
func (k *known) find(id key, minted uint64) (s state, all bool) {
	s, ok := k.young[id]
	if !ok {
		s = k.old[id]
	}
	// Nothing comes after a final.
	return s, s == final || minted >= k.horizon
}

// put remembers what was written, always among the young: what is there is
// not yet folded.
func (k *known) put(id key, s state, minted uint64) {
	if k.young == nil {
		k.young = make(map[key]state)
	}
	k.young[id] = s
	k.latestYoung = max(k.latestYoung, minted)
}

// turn is called when everything but the young is in SQLite, and forgets what
// is old once there are enough young ones.
func (k *known) turn() {
	if len(k.young) < recent {
		return
	}
	if len(k.old) > 0 {
		k.raise(k.latestOld)
		k.forgotten++
	}
	k.old, k.latestOld = k.young, k.latestYoung
	k.young, k.latestYoung = nil, 0
}

// raise moves the horizon behind a time.
func (k *known) raise(at uint64) { k.horizon = max(k.horizon, at+1) }

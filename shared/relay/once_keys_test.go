package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"mcprelay/shared/idempotency"
	"mcprelay/test/kit"
)

// keys keep records in memory, as the stores do; they fail where told to.
type keys struct {
	failBegin, failEnd bool
	late               bool // a Begin that fails has taken the key all the same

	mu   sync.Mutex
	kept map[idempotency.Key]idempotency.Record
}

var errDown = errors.New("the store is down")

// BeginKey takes a key that nobody has.
func (k *keys) BeginKey(_ context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failBegin && !k.late {
		return idempotency.Record{}, false, errDown
	}
	if there, taken := k.kept[key]; taken {
		return there, false, nil
	}
	k.kept[key] = r
	if k.failBegin {
		return idempotency.Record{}, false, errDown
	}
	return r, true, nil
}

// EndKey ends what the same call began.
func (k *keys) EndKey(_ context.Context, key idempotency.Key, r idempotency.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := k.kept[key]
	switch {
	case k.failEnd:
		return errDown
	case there.State != idempotency.Running || there.CallID != r.CallID:
		return idempotency.ErrConflict
	case len(r.Reply) > idempotency.MaxReply:
		return idempotency.ErrTooLarge
	case r.State == "":
		delete(k.kept, key)
	default:
		k.kept[key] = r
	}
	return nil
}

// all are the records that are there.
func (k *keys) all() []idempotency.Record {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []idempotency.Record
	for _, r := range k.kept {
		all = append(all, r)
	}
	return all
}

// change alters every record.
func (k *keys) change(f func(*idempotency.Record)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, r := range k.kept {
		f(&r)
		k.kept[key] = r
	}
}

// keeping is a warm relay that remembers keys.
func keeping(t *testing.T, serverKeys, fileKeys string) (*kit.Relay, *keys) {
	t.Helper()
	f := kit.New(t, serverKeys, fileKeys)
	k := &keys{kept: map[idempotency.Key]idempotency.Record{}}
	f.Keys = k
	f.Warm(t)
	return f, k
}

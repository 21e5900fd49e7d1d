package redact

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"mcprelay/shared/secret"
)

// maxMaskers bounds the maskers that are kept. One has about 6 KiB.
const maxMaskers = 256

// Maskers keeps maskers for secrets that are used again and again: finding one
// costs a twentieth of making it. The zero Maskers is ready, and may be used
// by several goroutines at once.
type Maskers struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]*Masker
}

// For gives the masker of values.
func (m *Maskers) For(values ...secret.Value) *Masker {
	key := digest(values)
	m.mu.Lock()
	masker, ok := m.kept[key]
	m.mu.Unlock()
	if ok {
		return masker
	}
	masker = New(values...)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= maxMaskers {
		m.kept = make(map[[sha256.Size]byte]*Masker)
	}
	m.kept[key] = masker
	return masker
}

// digest tells sets of values apart by their bytes and their order.
func digest(values []secret.Value) (key [sha256.Size]byte) {
	h := sha256.New()
	var size [8]byte
	for _, v := range values {
		binary.BigEndian.PutUint64(size[:], uint64(v.Len()))
		h.Write(size[:])
		h.Write(v.Expose())
	}
	h.Sum(key[:0])
	return key
}

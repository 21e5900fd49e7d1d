package exchange

import (
	"sync"
	"unique"

	"mcprelay/shared/session"
)

// maxRemembered bounds the states of each of the memory's two halves: a
// process of the relay talks to some hundreds of servers for some hundreds of
// callers, and a state has about 300 bytes besides what its server shares.
const maxRemembered = 4096

// memory keeps states in the process, so that a warm call reads nothing from
// the store. When its newer half is full the older one is forgotten; what is
// used moves to the newer. The zero memory is ready.
type memory struct {
	mu           sync.Mutex
	newer, older map[session.Key]session.State
}

// get is the state of key, live or not; the zero State for none.
func (m *memory) get(key session.Key) session.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.newer[key]; ok {
		return s
	}
	s, ok := m.older[key]
	if ok {
		delete(m.older, key)
		m.put(key, s)
	}
	return s
}

// set keeps s.
func (m *memory) set(key session.Key, s session.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, s)
}

// drop forgets key.
func (m *memory) drop(key session.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.newer, key)
	delete(m.older, key)
}

func (m *memory) put(key session.Key, s session.State) {
	if m.newer == nil || len(m.newer) >= maxRemembered {
		m.older, m.newer = m.newer, make(map[session.Key]session.State)
	}
	s.Instructions = unique.Make(s.Instructions).Value() // all sessions of a server have the same
	m.newer[key] = s
}

package relay

import "sync"

// lessons let one call at a time read a server's lists for all that need them.
// The zero lessons is ready.
type lessons struct {
	mu   sync.Mutex
	open map[gateKey]chan struct{}
}

// begin gives the lesson under way, or begins one that is the caller's to end.
func (l *lessons) begin(key gateKey) (lesson chan struct{}, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lesson, ok := l.open[key]; ok {
		return lesson, false
	}
	if l.open == nil {
		l.open = make(map[gateKey]chan struct{})
	}
	lesson = make(chan struct{})
	l.open[key] = lesson
	return lesson, true
}

func (l *lessons) end(key gateKey, lesson chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, key)
	close(lesson)
}

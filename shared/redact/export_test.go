package redact

// Kept is the number of maskers kept.
func (m *Maskers) Kept() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept)
}

package redact

// Kept is the number of maskers kept.
func (m *Maskers) Kept() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept)
}

// Words are the forms that the masker looks for.
func (m *Masker) Words() []string { return m.words }

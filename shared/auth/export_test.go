package auth

// MaxKept is the bound of what is kept, for tests.
const MaxKept = maxKept

// MaxRings is how many issuers' keys are kept, for tests.
const MaxRings = maxRings

// Kept counts the records and the key ids without one.
func (a *Authenticator) Kept() (known, unknown int) {
	a.records.mu.Lock()
	defer a.records.mu.Unlock()
	return len(a.records.known), len(a.records.unknown)
}

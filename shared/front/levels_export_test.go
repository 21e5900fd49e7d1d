package front

// MaxLevels is maxLevels, for tests.
const MaxLevels = maxLevels

// Levels counts the levels that are remembered.
func Levels(f *Front) int {
	f.levels.mu.Lock()
	defer f.levels.mu.Unlock()
	return len(f.levels.set)
}

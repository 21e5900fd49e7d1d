package local

// The questions for sessions that must be closed.
const (
	ClosesOfRun   = closesOfRun
	ClosesExpired = closesExpired
)

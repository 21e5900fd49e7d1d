package netns

import "testing"

// Run runs body in a new network and mount namespace: it starts the test
// binary again for this one test, and the copy runs body. Make it the first
// statement of the test, because what stands before it runs twice; body sees
// the copy's own t. It works in subtests too. Root needs CAP_SYS_ADMIN; other
// users need user namespaces.
func Run(t *testing.T, o Options, body func(t *testing.T)) {
	t.Helper()
	t.Fatal("netns: not built yet")
}

// Inside reports whether the process runs in a namespace that [Run] made.
func Inside() bool { return false }

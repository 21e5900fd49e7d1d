//go:build !linux

package netns

import "testing"

// Run fails the test: network namespaces are a feature of Linux.
func Run(t *testing.T, _ Options, _ func(t *testing.T)) {
	t.Helper()
	t.Fatal("netns: this test needs Linux, because it runs in a network namespace of its own")
}

// Inside reports whether the process runs in a namespace that [Run] made.
func Inside() bool { return false }

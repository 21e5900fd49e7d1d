package app

import (
	"os"
	"runtime/debug"
)

// How the process collects garbage. A relay keeps a few MiB and drops every
// call's bodies: at Go's default of 100 % a collection ran every third call of
// 256 KiB, and took a third of its CPU time. The limit is where collecting is
// worth more than speed again.
const (
	heapGrowth = 400       // percent
	heapLimit  = 256 << 20 // bytes
)

// Collector sets the garbage collector for a process that relays calls, unless
// GOGC or GOMEMLIMIT say otherwise.
func Collector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
}

package app

import (
	"os"
	"runtime/debug"
	"strconv"
)

// How the process collects garbage. A relay keeps a few MiB and drops every
// call's bodies: at Go's default of 100 % a collection ran every third call of
// 256 KiB, and took a third of its CPU time. The limit is where collecting is
// worth more than speed again.
const (
	heapGrowth = 400       // percent
	heapLimit  = 256 << 20 // bytes, at most
)

// EnvMemory is what Lambda says a function may use, in MiB. Three quarters of it
// are for the heap.
const EnvMemory = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"

// Collector sets the garbage collector for a process that serves calls, unless
// GOGC or GOMEMLIMIT say otherwise.
func Collector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit(os.Getenv(EnvMemory)))
	}
}

// limit is for a function of so many MiB; of a process that is none, heapLimit.
func limit(memory string) int64 {
	mib, err := strconv.ParseInt(memory, 10, 32)
	if err != nil || mib <= 0 {
		return heapLimit
	}
	return min(heapLimit, mib<<20/4*3)
}

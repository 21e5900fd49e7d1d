package app_test

import (
	"runtime/debug"
	"testing"

	"mcprelay/shared/app"
)

func TestTheCollectorIsSetUnlessTheEnvironmentSetsIt(t *testing.T) {
	percent := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	for _, test := range []struct {
		gogc, limit string
		percent     int
		bytes       int64
	}{{"", "", 400, 256 << 20}, {"50", "", 100, 256 << 20}, {"", "1GiB", 400, 1 << 40}} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(1 << 40)
		t.Setenv("GOGC", test.gogc)
		t.Setenv("GOMEMLIMIT", test.limit)
		app.Collector()
		if got := debug.SetMemoryLimit(-1); got != test.bytes {
			t.Errorf("GOMEMLIMIT %q: limit %d, want %d", test.limit, got, test.bytes)
		}
		if got := debug.SetGCPercent(100); got != test.percent {
			t.Errorf("GOGC %q: %d %%, want %d", test.gogc, got, test.percent)
		}
	}
}

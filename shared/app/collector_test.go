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
		gogc, limit, memory string
		percent             int
		bytes               int64
	}{
		{"", "", "", 400, 256 << 20}, {"50", "", "", 100, 256 << 20}, {"", "1GiB", "128", 400, 1 << 40},
		{"", "", "128", 400, 96 << 20}, {"", "", "256", 400, 192 << 20}, {"", "", "512", 400, 256 << 20},
		{"", "", "0", 400, 256 << 20}, {"", "", "much", 400, 256 << 20}, {"", "", "99999999999", 400, 256 << 20},
	} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(1 << 40)
		t.Setenv("GOGC", test.gogc)
		t.Setenv("GOMEMLIMIT", test.limit)
		t.Setenv(app.EnvMemory, test.memory)
		app.Collector()
		if got := debug.SetMemoryLimit(-1); got != test.bytes {
			t.Errorf("GOMEMLIMIT %q of %q MiB: limit %d, want %d", test.limit, test.memory, got, test.bytes)
		}
		if got := debug.SetGCPercent(100); got != test.percent {
			t.Errorf("GOGC %q: %d %%, want %d", test.gogc, got, test.percent)
		}
	}
}

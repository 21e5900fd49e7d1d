package redact_test

import (
	"fmt"
	"sync"
	"testing"

	"mcprelay/shared/redact"
)

func TestMaskersAreKeptBySecret(t *testing.T) {
	var m redact.Maskers
	one := m.For(values("first-secret", "second-secret")...)
	if again := m.For(values("first-secret", "second-secret")...); again != one {
		t.Error("the masker of the same secrets was made again")
	}
	for _, others := range [][]string{nil, {"first-secret"}, {"first-secre", "tsecond-secret"}, {"first-secretsecond-secret"}, {"first-secret", "second-secreT"}} {
		other := m.For(values(others...)...)
		if other == one {
			t.Errorf("%q got the masker of others", others)
		}
		for _, s := range others {
			if got := other.Text("x " + s); got != "x [redacted]" {
				t.Errorf("%q is masked as %q", s, got)
			}
		}
	}
}

func TestMaskersAreBoundedAndShared(t *testing.T) {
	var m redact.Maskers
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 400 {
				s := fmt.Sprintf("secret-number-%d", i*(g+1))
				if got := m.For(values(s)...).Text(s); got != redact.Mask {
					t.Errorf("%q is masked as %q", s, got)
				}
			}
		})
	}
	all.Wait()
	if n := m.Kept(); n > 256 {
		t.Errorf("%d maskers are kept", n)
	}
}

func BenchmarkMaskersFor(b *testing.B) {
	var m redact.Maskers
	v := values("sk-Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu")
	b.ReportAllocs()
	for b.Loop() {
		m.For(v...)
	}
}

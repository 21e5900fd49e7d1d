package call

import "testing"

func TestA(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Run("b", func(t *testing.T) { t.SkipNow() })
}

func BenchmarkA(b *testing.B) { b.Skipf("%d", 1) }

package scales

import "testing"

func TestHeavier(t *testing.T) {
	if !Heavier(2, 1) || Heavier(1, 2) {
		t.Error("2 outweighs 1, and not the other way round")
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]int{-1, 2, 3}); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}

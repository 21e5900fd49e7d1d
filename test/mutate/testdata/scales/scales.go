// Package scales is one whose tests are known to overlook something.
package scales

// Heavier reports whether a outweighs b.
func Heavier(a, b int) bool {
	return a > b
}

// Sum adds what is not negative.
func Sum(weights []int) int {
	total := 0
	for _, w := range weights {
		if w < 0 {
			continue
		}
		total += w
	}
	return total
}

// Unused is asked by nobody.
func Unused() int { return 1 }

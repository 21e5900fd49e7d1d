package stdio

import "time"

// maxBackoff is the longest pause between two starts: a server that cannot
// start costs one try in half a minute, and one that was mended is back within it.
const maxBackoff = 30 * time.Second

// backoff is the pause after so many failures in a row: first, doubled with
// each after the first one.
func backoff(first time.Duration, failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	pause := first
	for range failures - 1 {
		if pause >= maxBackoff {
			break
		}
		pause *= 2
	}
	return min(pause, maxBackoff)
}

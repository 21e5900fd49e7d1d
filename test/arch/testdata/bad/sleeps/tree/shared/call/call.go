// Package call may sleep, its tests may not.
package call

import "time"

func wait() { time.Sleep(1) }

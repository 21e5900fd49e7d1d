// Package peers is test code.
package peers

import "time"

func wait() { time.Sleep(1) }

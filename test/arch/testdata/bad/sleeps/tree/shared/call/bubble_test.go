package call

import (
	_ "testing/synctest"
	"time"
)

func f() { time.Sleep(1) }

package call

import clock "time"

type time struct{}

func (time) Sleep() {}

func f(t time) {
	t.Sleep()
	clock.Sleep(1)
}

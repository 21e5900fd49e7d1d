// Package call gives up.
package call

type t struct{}

func (t) panic() {}

func f(x t) {
	x.panic()
	panic("no")
}

func g(panic func(string)) { panic("a function of that name") }

// Package call has a method of that name.
package call

type reader struct{}

func (reader) Skip() {}

func f(r reader) { r.Skip() }

// Package call does things before main.
package call

type t struct{}

func (t) init() {}

func init() {}

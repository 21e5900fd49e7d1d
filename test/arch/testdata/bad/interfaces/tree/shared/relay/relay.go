// Package relay asks for too much.
package relay

import "io"

type fine interface {
	io.Reader
	Close() error
}

type three interface {
	A()
	B()
	C()
}

func f(x interface {
	io.Reader
	io.Writer
	Close() error
}) {
}

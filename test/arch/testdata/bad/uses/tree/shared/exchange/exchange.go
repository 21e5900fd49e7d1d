// Package exchange finds ways around the guard.
package exchange

import (
	"net"
	web "net/http"
)

type dialer struct{ Dial func() }

func around(d dialer) (*web.Request, error) {
	d.Dial()
	c, err := net.DialTimeout("tcp", "example.com:80", 0)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_, err = web.DefaultClient.Get("http://example.com")
	if err != nil {
		return nil, err
	}
	return web.NewRequest("GET", "/", nil)
}

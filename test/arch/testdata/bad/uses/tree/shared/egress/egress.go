// Package egress is the guard.
package egress

import "net"

type dialer struct{ net.Dialer }

package canary_test

import (
	"net"
	"sync"
	"testing"

	"mcprelay/test/canary"
)

func TestHitsCountsEveryConnectionMadeBefore(t *testing.T) {
	c := canary.Listen(t, "127.0.0.1:0")
	if got := c.Hits(); got != 0 {
		t.Fatalf("Hits of a fresh canary: got %d, want 0", got)
	}
	const visitors = 50
	for range visitors {
		visit(t, c)
	}
	if got := c.Hits(); got != visitors {
		t.Errorf("Hits: got %d, want %d", got, visitors)
	}
	if got := c.Hits(); got != visitors {
		t.Errorf("Hits again: got %d, want the canary's own probes left out", got)
	}
}

func TestHitsMayBeAskedWhileConnectionsComeIn(t *testing.T) {
	c := canary.Listen(t, "127.0.0.1:0")
	const askers = 8
	var all sync.WaitGroup
	for range askers {
		all.Go(func() {
			visit(t, c)
			if got := c.Hits(); got < 1 || got > askers {
				t.Errorf("Hits: got %d, want 1 to %d", got, askers)
			}
		})
	}
	all.Wait()
	if got := c.Hits(); got != askers {
		t.Errorf("Hits: got %d, want %d", got, askers)
	}
}

func visit(t *testing.T, c *canary.Canary) {
	t.Helper()
	conn, err := net.Dial("tcp", c.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	conn.Close()
}

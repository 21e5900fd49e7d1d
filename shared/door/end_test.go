package door_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/door"
)

// Requests that are the same but for the way they take.
var ways = map[string]string{"short": get, "long": "GET /a HTTP/1.1\r\nHost: h\r\nExpect: \r\n\r\n"}

// waits begins a handler that says when it runs and ends with its context or
// when it is let go.
func waits() (h http.HandlerFunc, runs chan string, letGo chan struct{}, ended chan error) {
	runs, letGo, ended = make(chan string, 1), make(chan struct{}), make(chan error, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		runs <- way(w)
		select {
		case <-r.Context().Done():
		case <-letGo:
		}
		ended <- r.Context().Err()
	}, runs, letGo, ended
}

func TestAClientThatGoesEndsTheContextOfItsCall(t *testing.T) {
	for name, request := range ways {
		for _, how := range []string{"closes", "resets", "closes half"} {
			t.Run(name+" "+how, func(t *testing.T) {
				h, runs, _, ended := waits()
				_, addr, _ := opened(t, h)
				c := dial(t, addr).send(request)
				if got := <-runs; got != name {
					t.Fatalf("it took the %s way", got)
				}
				switch how {
				case "resets":
					_ = c.SetLinger(0)
					_ = c.Close()
				case "closes half":
					_ = c.CloseWrite()
				default:
					_ = c.Close()
				}
				select {
				case err := <-ended:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
				case <-time.After(patience):
					t.Error("the call ran on")
				}
			})
		}
	}
}

func TestACallOfAClientThatStaysIsLeftAlone(t *testing.T) {
	h, runs, letGo, ended := waits()
	_, addr, _ := opened(t, h)
	c := dial(t, addr).send(get)
	<-runs
	pass(6 * door.LookEvery)
	c.send(get) // the next request is no farewell
	pass(6 * door.LookEvery)
	letGo <- struct{}{}
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
	c.reply("GET")
	<-runs
	letGo <- struct{}{}
	c.reply("GET")
}

func TestTheContextEndsWithItsRequest(t *testing.T) {
	kept := make(chan context.Context, 1)
	_, addr, _ := opened(t, func(_ http.ResponseWriter, r *http.Request) { kept <- r.Context() })
	dial(t, addr).send(get).reply("GET")
	select {
	case <-(<-kept).Done():
	case <-time.After(patience):
		t.Error("it did not end")
	}
}

func TestTheEndOfAllCallsReachesEach(t *testing.T) {
	h, runs, _, ended := waits()
	_, addr, cancel := opened(t, h)
	dial(t, addr).send(get)
	<-runs
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhoSaysNothingIsNotWaitedFor(t *testing.T) {
	soon := func(s *http.Server) { s.ReadHeaderTimeout, s.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond }
	_, addr, _ := opened(t, echo, soon)
	t.Run("at all", func(t *testing.T) { dial(t, addr).ends() })
	t.Run("any more", func(t *testing.T) {
		c := dial(t, addr).send(get)
		c.reply("GET")
		c.ends()
	})
	t.Run("to the end of a head", func(t *testing.T) {
		c := dial(t, addr).send("GET /a HT")
		if b, err := c.r.ReadString(0); strings.Contains(b, "200") || err == nil {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

func TestShutdownLetsRequestsEnd(t *testing.T) {
	for name, request := range ways {
		t.Run(name, func(t *testing.T) {
			h, runs, letGo, _ := waits()
			s, addr, _ := opened(t, h)
			idle, used := dial(t, addr), dial(t, addr).send(request)
			<-runs
			down := make(chan error, 1)
			go func() { down <- s.Shutdown(t.Context()) }()
			idle.ends()
			select {
			case err := <-down:
				t.Fatalf("Shutdown gave %v before the request had ended", err)
			case <-time.After(3 * door.LookEvery):
			}
			if conn, err := net.Dial("tcp", addr); err == nil {
				_ = conn.Close()
				t.Error("it still listens")
			}
			close(letGo)
			if resp, _ := used.reply("GET"); resp.StatusCode != 200 || !resp.Close {
				t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
			}
			used.ends()
			if err := <-down; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	h, runs, letGo, _ := waits()
	s, addr, _ := opened(t, h)
	defer close(letGo)
	dial(t, addr).send(get)
	<-runs
	bounded, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := s.Shutdown(bounded); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatWasShutDownServesNothing(t *testing.T) {
	s := door.New(&http.Server{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// A listener without room for a connection has it later.
func TestAnAcceptThatFailsForWantOfFilesIsTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	full := &os.SyscallError{Syscall: "accept4", Err: syscall.EMFILE}
	s := door.New(&http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: patience, IdleTimeout: patience})
	served := make(chan error, 1)
	go func() { served <- s.Serve(&failing{l, []error{full, full, nil, broken}}) }()
	if _, got := dial(t, l.Addr().String()).send(get).reply("GET"); got != "short GET /a " {
		t.Errorf("got %q", got)
	}
	if err := <-served; !errors.Is(err, broken) {
		t.Errorf("Serve gave %v", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// failing is a listener whose accepts go wrong in turn.
type failing struct {
	net.Listener
	next []error
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.next[0]
	if f.next = f.next[1:]; err != nil {
		return nil, err
	}
	return f.Listener.Accept()
}

// Connections come and go while the server is told to stop: none may hang it.
func TestShutdownUnderLoadLeavesNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		s := door.New(&http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: patience, IdleTimeout: patience})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		gone := make(chan struct{})
		for i := range 16 {
			go func() {
				defer func() { gone <- struct{}{} }()
				request := ways[[]string{"short", "long"}[i%2]]
				for {
					conn, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						return
					}
					for err == nil {
						if _, err = conn.Write([]byte(request)); err == nil {
							_, err = conn.Read(make([]byte, 512))
						}
					}
					_ = conn.Close()
				}
			}()
		}
		pass(10 * time.Millisecond)
		bounded, stop := context.WithTimeout(t.Context(), patience)
		if err := s.Shutdown(bounded); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve gave %v", err)
		}
		for range 16 {
			<-gone
		}
	}
	for until := time.Now().Add(patience); runtime.NumGoroutine() > before; pass(door.LookEvery) {
		if time.Now().After(until) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

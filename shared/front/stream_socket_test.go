package front_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/door"
	"mcprelay/shared/front"
	"mcprelay/shared/wire"
)

// surfaces are the servers that a front is behind: each serves a handler until
// the test ends, and gives its URL.
var surfaces = map[string]func(*testing.T, http.Handler) string{
	"net/http": func(t *testing.T, h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	},
	"door": func(t *testing.T, h http.Handler) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := door.New(&http.Server{Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute})
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
		return "http://" + listener.Addr().String()
	},
}

// working is a handler that reports twice and answers when the test says so.
// What became of its context is sent to ended.
func working(work chan struct{}, ended chan error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p, ctx := front.NewReply(w, r)
		defer p.Close()
		defer func() { ended <- ctx.Err() }()
		for range 2 {
			p.Notify(progress, nil)
			select {
			case <-work:
			case <-ctx.Done():
				return
			}
		}
		p.Answer(200, []byte(done))
	})
}

// post sends a request as an agent does.
func post(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", bothTypes)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func TestNotificationsArriveWhileTheCallRuns(t *testing.T) {
	for name, serve := range surfaces {
		t.Run(name, func(t *testing.T) {
			work, ended := make(chan struct{}), make(chan error, 2)
			url := serve(t, working(work, ended))
			for range 2 { // the connection carries another call
				response := post(t, http.DefaultClient, url)
				events := wire.NewEventReader(response.Body, wire.EventLimits{Bytes: 1 << 20, Events: 10})
				for range 2 {
					if got, err := events.Next(); err != nil || !strings.Contains(string(got.Data), progress) {
						t.Fatalf("got %q, %v, want progress", got.Data, err)
					}
					work <- struct{}{} // only now the call goes on
				}
				got, err := events.Next()
				if err != nil || string(got.Data) != done {
					t.Errorf("got %q, %v, want the answer", got.Data, err)
				}
				if _, err := events.Next(); err != io.EOF {
					t.Errorf("the stream goes on after the answer: %v", err)
				}
				<-ended
			}
		})
	}
}

func TestAnAgentThatLeavesEndsTheCall(t *testing.T) {
	for name, serve := range surfaces {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			url := serve(t, working(make(chan struct{}), ended))
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			response := post(t, client, url)
			if _, err := response.Body.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the call ended by itself")
				}
			case <-time.After(10 * time.Second):
				t.Error("the call goes on without its agent")
			}
		})
	}
}

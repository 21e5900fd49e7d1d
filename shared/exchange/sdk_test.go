package exchange_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// sdkServer is the Go SDK's own server, as an independent peer. It counts what
// comes by JSON-RPC method or verb.
type sdkServer struct {
	url string
	mu  sync.Mutex
	n   map[string]int
}

func (s *sdkServer) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n[what]
}

func newSDKServer(t testing.TB, o mcp.StreamableHTTPOptions) *sdkServer {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ServerOptions{Instructions: advice, CompletionHandler: sdkCompletion})
	addSDKAsks(server)
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}, StructuredContent: r.Params.Arguments}, nil
	})
	server.AddTool(&mcp.Tool{Name: "fail", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "progress", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &o)
	s := &sdkServer{n: map[string]int{}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.n[r.Method]++
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			s.mu.Lock()
			s.n[method]++
			s.mu.Unlock()
			return next(ctx, method, r)
		}
	})
	t.Cleanup(web.Close)
	s.url = web.URL + "/mcp"
	return s
}

// sdkServers are the ways in which the SDK serves, and the era that each gives.
func sdkServers(t testing.TB) map[string]struct {
	server *sdkServer
	era    session.Era
} {
	type peer = struct {
		server *sdkServer
		era    session.Era
	}
	return map[string]peer{
		"stateful":        {newSDKServer(t, mcp.StreamableHTTPOptions{}), session.Legacy},
		"stateful, JSON":  {newSDKServer(t, mcp.StreamableHTTPOptions{JSONResponse: true}), session.Legacy},
		"stateless":       {newSDKServer(t, mcp.StreamableHTTPOptions{Stateless: true}), session.Modern},
		"stateless, JSON": {newSDKServer(t, mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), session.Modern},
	}
}

func TestSDKServerIsCalled(t *testing.T) {
	for name, peer := range sdkServers(t) {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			for i := range 3 {
				arguments := fmt.Sprintf(`{"n":9007199254740993,"f":1.0,"e":1e2,"z":"<&>","call":%d}`, i)
				reply, err := process(t, s).Call(t.Context(), request(t, peer.server.url, func(r *exchange.Request) { r.Arguments = json.RawMessage(arguments) }))
				if err != nil {
					t.Fatal(err)
				}
				var result struct{ Content []struct{ Text string } }
				if err := json.Unmarshal(reply.Result, &result); err != nil {
					t.Fatal(err)
				}
				exact := strings.Contains(string(reply.Result), `"n":9007199254740993,"f":1.0,"e":1e2,`) // the SDK escapes <&> itself
				if !exact || len(result.Content) != 1 || result.Content[0].Text != arguments {
					t.Errorf("want %s, got %s", arguments, reply.Result)
				}
				if reply.Facts.Era != peer.era || reply.Facts.Posts != 1 {
					t.Errorf("want era %s, got %+v", peer.era, reply.Facts)
				}
			}
			wantOpenings := 0
			if peer.era == session.Legacy {
				wantOpenings = 1
			}
			if peer.server.count("initialize") != wantOpenings || peer.server.count("tools/call") != 3 || peer.server.count("GET") != 0 {
				t.Errorf("got %v", peer.server.n)
			}
		})
	}
}

func TestSDKServerAnswersErrorsProgressAndLists(t *testing.T) {
	for name, peer := range sdkServers(t) {
		t.Run(name, func(t *testing.T) {
			x := process(t, newStore())
			reply, err := x.Call(t.Context(), request(t, peer.server.url, func(r *exchange.Request) { r.Tool = "fail" }))
			if err != nil || !reply.IsError {
				t.Errorf("want isError, got %v, %s", err, reply.Result)
			}
			reply, err = x.Call(t.Context(), request(t, peer.server.url, func(r *exchange.Request) { r.Tool = "missing" }))
			if err != nil || reply.Error == nil || reply.Error.Code != call.CodeInvalidParams {
				t.Errorf("want an error of the server's, got %v, %+v", err, reply.Error)
			}
			var progress int
			reply, err = x.Call(t.Context(), request(t, peer.server.url, func(r *exchange.Request) {
				r.Tool, r.Meta = "progress", json.RawMessage(`{"progressToken":"t"}`)
				r.Notify = func(string, json.RawMessage) { progress++ }
			}))
			if streams := name == "stateful" || name == "stateless"; err != nil || streams && progress != 3 {
				t.Errorf("got %v, %d progress, %+v", err, progress, reply.Facts)
			}
			tools, _, err := x.List(t.Context(), request(t, peer.server.url))
			if err != nil || len(tools) != 4 {
				t.Errorf("want 4 tools, got %v, %s", err, tools)
			}
		})
	}
}

func TestSDKServerThatLostItsSession(t *testing.T) {
	server := newSDKServer(t, mcp.StreamableHTTPOptions{})
	s := newStore()
	knows(s, session.Legacy)
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "of-another-life", Expires: s.now().Add(session.Lifetime), Ver: 1})
	reply, err := process(t, s).Call(t.Context(), request(t, server.url))
	if err != nil || reply.Facts.Session != exchange.SessionRenewed || reply.Facts.Posts != 2 {
		t.Errorf("got %v, %+v", err, reply.Facts)
	}
	if server.count("initialize") != 1 || server.count("tools/call") != 1 {
		t.Errorf("got %v", server.n)
	}
}

// TestSDKStreamKeepsItsConnection: the SDK ends each stream after its response.
func TestSDKStreamKeepsItsConnection(t *testing.T) {
	server := newSDKServer(t, mcp.StreamableHTTPOptions{Stateless: true})
	x := process(t, newStore())
	seen := map[string]bool{}
	for range 20 {
		reply, err := x.Call(t.Context(), request(t, server.url))
		if err != nil {
			t.Fatal(err)
		}
		seen[reply.Facts.Address.String()] = true
	}
	if len(seen) != 1 {
		t.Errorf("got %v", seen)
	}
}

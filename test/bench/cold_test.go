package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkCold wants every function measured that a request waits for, and that
// its first answer costs more than its second.
func checkCold(t *testing.T, c colds) {
	t.Helper()
	var cases, functions []string
	for _, s := range c.Starts {
		cases = append(cases, s.Function+": "+s.Request)
		if s.Starts != quickColdStarts {
			t.Errorf("%+v: want %d starts", s, quickColdStarts)
		}
		for _, v := range []span{s.Ready, s.First, s.Second, s.CPU} {
			if !(v.P50 > 0) || v.P99 < v.P50 {
				t.Errorf("%+v: %+v is no time", s, v)
			}
		}
		if s.First.P50 <= s.Second.P50 || s.First.P50 <= s.Ready.P50 {
			t.Errorf("%+v: the first answer must take longer than getting ready, and than the second answer", s)
		}
	}
	if diff := cmp.Diff([]string{"authorizer: service token", "authorizer: JWT, pinned key", "relay: GET /v1/servers"}, cases); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	for _, b := range c.Binaries {
		functions = append(functions, b.Function)
		if b.Bytes < 1<<20 {
			t.Errorf("%s has %d bytes, which is no program", b.Function, b.Bytes)
		}
	}
	folders, err := filepath.Glob("../../functions/*")
	for i := range folders {
		folders[i] = filepath.Base(folders[i])
	}
	if diff := cmp.Diff(folders, functions); err != nil || diff != "" {
		t.Errorf("%v, sizes (-want +got):\n%s", err, diff)
	}
}

func TestTheColdFiguresAreInTheReport(t *testing.T) {
	text, err := json.Marshal(report{Cold: colds{
		Binaries: []binary{{"relay", 7}},
		Starts:   []coldStart{{"relay", "GET", 3, span{1, 2}, span{3, 4}, span{5, 6}, span{7, 8}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `"cold":{"binaries":[{"function":"relay","bytes":7}],"starts":[{"function":"relay","request":"GET","starts":3,` +
		`"ready_ms":{"p50":1,"p99":2},"first_ms":{"p50":3,"p99":4},"second_ms":{"p50":5,"p99":6},"cpu_ms":{"p50":7,"p99":8}}]}`
	if !strings.Contains(string(text), want) {
		t.Errorf("want %s in %s", want, text)
	}
}

func TestAFunctionThatEndsIsNamedWithWhatItSaid(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "broken"), []byte("#!/bin/sh\necho no table >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := coldCase{function: "broken"}
	err := c.start(t.Context(), folder, nil, true)
	if err == nil || !strings.Contains(err.Error(), "before it answered") || !strings.Contains(err.Error(), "no table") {
		t.Errorf("got %v, want its end and its complaint", err)
	}
	if c.function = "missing"; c.start(t.Context(), folder, nil, true) == nil || len(c.first) != 0 {
		t.Errorf("got %d times of what did not start", len(c.first))
	}
}

// Only the answer that was wanted, to an event that was asked for, is worth a
// number.
func TestOnlyTheRightAnswerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		asks       bool
		path, body string
		problem    string // "" : none
	}{
		"right":                 {true, "invocation/event-0/response", `{"Effect":"Allow"}`, ""},
		"wrong":                 {true, "invocation/event-0/response", `{"Effect":"Deny"}`, "lacks"},
		"an error":              {true, "invocation/event-0/error", `{"errorMessage":"Unauthorized"}`, "Unauthorized"},
		"an error at its start": {false, "init/error", `{"errorMessage":"no table"}`, "no table"},
		"not asked for":         {false, "invocation/event-0/response", `{"Effect":"Allow"}`, "not asked"},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := serveRuntime([]byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer api.stop()
			base := "http://" + api.listener.Addr().String() + "/2018-06-01/runtime/"
			if c.asks {
				send(t, http.MethodGet, base+"invocation/next", "", http.StatusOK)
			}
			send(t, http.MethodPost, base+c.path, c.body, http.StatusAccepted)
			e, err := api.exchange(nil, []string{`"Effect":"Allow"`})
			if c.problem == "" {
				if err != nil || !e.answered.After(e.asked) {
					t.Errorf("got %+v, %v", e, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %v, want it to say %q", err, c.problem)
			}
		})
	}
}

func send(t *testing.T, method, url, body string, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Body.Close(); err != nil || reply.StatusCode != status {
		t.Errorf("%s %s: got %d, %v", method, url, reply.StatusCode, err)
	}
}

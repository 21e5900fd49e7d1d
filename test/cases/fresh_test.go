package cases_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/test/hostile"
)

// eight servers with as many tools as one may have.
const (
	manyServers = 8
	manyTools   = 64
)

// crowd is a relay in front of several servers, the first of them "up".
func crowd(t *testing.T, k *stage, era hostile.Era) (*scene, []*hostile.Server) {
	t.Helper()
	var tools []string
	for i := range manyTools {
		tools = append(tools, fmt.Sprintf(`{"name":"tool-%02d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("d", 200)))
	}
	servers := make([]*hostile.Server, manyServers)
	more := map[string]*hostile.Server{}
	for i := range servers {
		servers[i] = hostile.Start(t, hostile.Options{Era: era, Tools: tools})
		if i > 0 {
			more[fmt.Sprintf("s%d", i)] = servers[i]
		}
	}
	return k.before(t, servers[0], hostile.Setup{More: more}), servers
}

// asked counts the requests that all servers saw.
func asked(servers []*hostile.Server) (n int) {
	for _, server := range servers {
		n += len(server.Requests())
	}
	return n
}

func TestAListOfManyServersCostsThemNothingWhileItIsFresh(t *testing.T) {
	k := &stage{store: hostile.Open(t)}
	for _, era := range hostile.Eras() {
		t.Run(string(era), func(t *testing.T) {
			s, servers := crowd(t, k, era)
			first := s.relay.Ask(t.Context(), t, hostile.Ask{All: true, Method: "tools/list"}).Result()
			if got := strings.Count(first, `"name":"`); got != manyServers*manyTools || strings.Contains(first, "nextCursor") {
				t.Fatalf("the list has %d tools, want %d on one page: %.300s", got, manyServers*manyTools, first)
			}
			before := asked(servers)
			if before < 2*manyServers {
				t.Fatalf("the servers saw %d requests for the first list", before)
			}
			for _, process := range []*scene{s, s.again()} {
				for _, subject := range hostile.Subjects() {
					for _, a := range everyList() {
						a.Subject = subject
						reply := process.relay.Ask(t.Context(), t, a)
						if reply.Status != http.StatusOK {
							t.Errorf("%+v: got %d %.300s", a, reply.Status, reply.Body)
						}
						if a.Method == "tools/list" && a.All && !a.Modern && reply.Result() != first {
							t.Errorf("the list is another one now: %.300s", reply.Body)
						}
					}
				}
				if got := asked(servers); got != before {
					t.Errorf("the servers saw %d requests for lists that were fresh, want none", got-before)
				}
			}
		})
	}
}

// everyList asks for the lists in every way there is.
func everyList() (all []hostile.Ask) {
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		for _, path := range []bool{false, true} {
			for _, modern := range []bool{false, true} {
				all = append(all, hostile.Ask{Method: method, All: path, Modern: modern})
			}
		}
	}
	for _, path := range []string{"/v1/servers", "/v1/servers/s1/tools", "/v1/servers/s1/resources", "/v1/servers/s1/prompts"} {
		all = append(all, hostile.Ask{Verb: http.MethodGet, Path: path})
	}
	return all
}

package openapi_test

import (
	"errors"
	"strings"
	"testing"

	"mcprelay/test/kit"
)

// simulations is what an operator's question is answered beside.
func simulations() []scenario {
	good := requests()["simulateCall"]
	answers := func(name, more string) scenario {
		return scenario{name: name, operation: "simulateCall", status: 200, request: good.saying(`{"subject":"ci","server":"up"` + more + `}`)}
	}
	all := []scenario{
		answers("a denied tool", `,"kind":"user","scopes":["call"],"run":"r1","tool":"never","arguments":{"n":1}`),
		answers("a resource without a rule", `,"resource":"file:///a"`),
		answers("a prompt without a rule", `,"prompt":"greet"`),
		answers("a policy that denies", `,"tool":"look","only":true,"policies":[{"name":"p","mode":"enforce","source":"package mcprelay.policy\n\ndeny contains \"no\""}]`),
		answers("a policy that watches", `,"tool":"look","policies":[{"name":"p","mode":"audit","source":"package mcprelay.policy\n\ndeny contains \"no\""}]`),
		{name: "a large body", operation: "simulateCall", status: 413, request: good.saying(strings.Repeat(" ", 1<<20+1))},
		{name: "another type", operation: "simulateCall", status: 415, request: good.with("Content-Type", "text/plain")},
		{name: "no registration", operation: "simulateCall", status: 503, request: good, arrange: func(_ *testing.T, k *kit.Relay) {
			k.Registry.Registration, k.Registry.Err = nil, errors.New("the store is down")
		}},
	}
	for _, body := range []string{`{`, `{}`, `{"subject":"ci","server":"up"}`, `{"subject":"ci","server":"up","tool":"look","more":1}`, `{"subject":"ci","server":"up","tool":"look","policies":[{"name":"p","source":"no"}]}`} {
		all = append(all, scenario{name: body, operation: "simulateCall", status: 400, request: good.saying(body)})
	}
	return all
}

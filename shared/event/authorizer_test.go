package event_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/event"
)

// guard knows one token, and one of which it cannot tell.
func guard(_ context.Context, h http.Header) (call.Principal, *call.Refusal) {
	switch h.Get("Authorization") + h.Get("X-Relay-Client-Secret") {
	case "Bearer good", "good":
		return call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser}, nil
	case "Bearer all":
		return call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser, Path: "/v1/mcp"}, nil
	case "Bearer unsure":
		return call.Principal{}, call.Refuse(call.AuthUnavailable, "")
	}
	return call.Principal{}, call.Refuse(call.Unauthenticated, "")
}

func TestTheEdgeTurnsAwayWhoIsSurelyRefused(t *testing.T) {
	const arn = "arn:aws:execute-api:eu-central-1:123456789012:abcdefghij/live/POST/v1/mcp"
	header := func(pairs ...string) map[string][]string {
		h := map[string][]string{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		path   string
		header map[string][]string
		want   string // Allow, Deny or the error
		who    string
	}{
		"a caller":                     {"/v1/mcp", header("authorization", "Bearer good"), "Allow", "ci"},
		"a caller by the other pair":   {"/v1/servers/up/mcp", header("X-Relay-Client-Id", "ci", "X-Relay-Client-Secret", "good"), "Allow", "ci"},
		"a token of the path":          {"/v1/mcp", header("Authorization", "Bearer all"), "Allow", "ci"},
		"a token of another path":      {"/v1/servers/up/mcp", header("Authorization", "Bearer all"), "Deny", "ci"},
		"a stranger":                   {"/v1/mcp", header("Authorization", "Bearer bad"), "Unauthorized", ""},
		"nobody":                       {"/v1/mcp", nil, "Unauthorized", ""},
		"a stranger at one server":     {"/v1/servers/up/mcp", header("Authorization", "Bearer bad"), "Deny", "unverified"},
		"nobody at the plain face":     {"/v1/servers/up/tools/look", nil, "Deny", "unverified"},
		"when it cannot be told":       {"/v1/mcp", header("Authorization", "Bearer unsure"), "Allow", "unverified"},
		"what the relay refuses":       {"/v1/mcp", header("Authorization", "Bearer bad", "Authorization", "Bearer good"), "Allow", "unverified"},
		"an underscore is no hyphen":   {"/v1/mcp", header("X_Relay_Client_Secret", "good"), "Unauthorized", ""},
		"health":                       {"/healthz", nil, "Allow", "unverified"},
		"the description":              {"/v1/openapi.json", nil, "Allow", "unverified"},
		"metadata":                     {"/.well-known/oauth-protected-resource/v1/mcp", nil, "Allow", "unverified"},
		"what only looks like it":      {"/v1/.well-known/x", nil, "Deny", "unverified"},
		"what only begins like health": {"/healthz/x", nil, "Deny", "unverified"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := event.Authorizer(guard)(t.Context(), events.APIGatewayCustomAuthorizerRequestTypeRequest{
				Type: "REQUEST", Path: c.path, MethodArn: arn, MultiValueHeaders: c.header,
			})
			if err != nil {
				if err.Error() != c.want {
					t.Errorf("got the error %v, want %s", err, c.want)
				}
				return
			}
			want := events.APIGatewayCustomAuthorizerResponse{PrincipalID: c.who, PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
				Version:   "2012-10-17",
				Statement: []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: c.want, Resource: []string{arn}}},
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// Every event of events/authorizer gets the answer beside it.
func TestEveryEventOfTheEdgeCheck(t *testing.T) {
	files, err := filepath.Glob("../../events/authorizer/*.want.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d events, %v", len(files), err)
	}
	for _, file := range files {
		var e events.APIGatewayCustomAuthorizerRequestTypeRequest
		var want, got any
		read(t, strings.TrimSuffix(file, ".want.json")+".json", &e)
		read(t, file, &want)
		answer, err := event.Authorizer(guard)(t.Context(), e)
		if got = map[string]any{"error": "Unauthorized"}; err == nil {
			text, failed := json.Marshal(answer)
			if failed != nil || json.Unmarshal(text, &got) != nil {
				t.Fatal(failed)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

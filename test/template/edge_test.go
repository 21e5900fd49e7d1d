package template_test

import (
	"fmt"
	"strings"
	"testing"
)

// challenges: what the edge check says is a 401 with a challenge of its own, and
// what it is asked is asked anew at every request.
func challenges(s stack) (found []string) {
	body := s.resource("RelayApi").at("Properties", "Body")
	check := body.at("components", "securitySchemes", "Edge", "x-amazon-apigateway-authorizer")
	if check.at("type").text() != "request" || check.at("authorizerResultTtlInSeconds").number() != 0 || check.at("identitySource").value != nil {
		found = append(found, "the edge check is not asked about every request: "+check.text())
	}
	const plain = `'Bearer realm="mcprelay", scope="call"'`
	named := fmt.Sprintf(`{"Fn::If":["TellsClients",{"Fn::Sub":%q},%q]}`,
		`'Bearer realm="mcprelay", scope="call", resource_metadata="${PublicUrl}/.well-known/oauth-protected-resource/v1/mcp"'`, plain)
	for kind, want := range map[string]string{"UNAUTHORIZED": named, "ACCESS_DENIED": plain} {
		answer := body.at("x-amazon-apigateway-gateway-responses", kind)
		if got := answer.at("responseParameters", "gatewayresponse.header.WWW-Authenticate").text(); got != want {
			found = append(found, fmt.Sprintf("%s challenges with %s, want %s", kind, got, want))
		}
		if got := answer.at("statusCode").text(); got != "401" {
			found = append(found, kind+" has the status "+got)
		}
		if text := answer.at("responseTemplates", "application/json").text(); !strings.Contains(text, `"reason":"unauthenticated"`) {
			found = append(found, kind+" does not say its reason")
		}
	}
	return found
}

// The edge check is an option: without it no method refers to it, with it every
// one does.
func TestTheEdgeCheckGuardsEveryMethodOrNone(t *testing.T) {
	const off = "  EdgeCheck:\n    Type: String\n    Default: \"\"\n"
	text := read(t)
	if !strings.Contains(text, off) {
		t.Fatal("EdgeCheck is not off where nobody says otherwise")
	}
	on := strings.Replace(text, off, strings.Replace(off, `""`, "Edge", 1), 1)
	for i, s := range translate(t, text, on) {
		paths := s.resource("RelayApi").at("Properties", "Body", "paths")
		for _, path := range paths.names() {
			for _, verb := range paths.at(path).names() {
				got, want := paths.at(path, verb, "security").text(), []string{"", `[{"Edge":[]}]`}[i]
				if got != want {
					t.Errorf("%s %s: got %q, want %q", verb, path, got, want)
				}
			}
		}
	}
}

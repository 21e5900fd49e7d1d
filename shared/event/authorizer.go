package event

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
)

// errUnauthorized is what API Gateway answers 401 for, by this very text.
var errUnauthorized = errors.New("Unauthorized")

// allPath is the MCP endpoint over all servers: the one whose metadata the
// template's answer to errUnauthorized names.
const allPath = "/v1/mcp"

// Authorizer answers API Gateway's question whether a request may pass (a
// Lambda authorizer of type REQUEST). It turns those away whose credential is
// surely refused, and nothing else: the relay behind it authenticates every
// request by itself, so whatever cannot be told here passes. A request for
// [/v1/mcp] is turned away as unauthorized, any other as denied; the template
// gives both the status 401, each with its own challenge.
func Authorizer(authenticate func(context.Context, http.Header) (call.Principal, *call.Refusal)) func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	return func(ctx context.Context, e events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		who, refused := "unverified", false
		if open(e.Path) {
			return verdict(who, e.MethodArn, true), nil
		}
		header, refusal := requestHeader(events.APIGatewayProxyRequest{Headers: e.Headers, MultiValueHeaders: e.MultiValueHeaders})
		if refusal == nil {
			var p call.Principal
			if p, refusal = authenticate(ctx, header); refusal == nil {
				if who = p.Subject; !p.For(e.Path) {
					refusal = call.Refuse(call.Unauthenticated, "the credential is for another path")
				}
			}
			refused = refusal != nil && refusal.Reason == call.Unauthenticated
		}
		if refused && e.Path == allPath {
			return events.APIGatewayCustomAuthorizerResponse{}, errUnauthorized
		}
		return verdict(who, e.MethodArn, !refused), nil
	}
}

// open reports whether a path is for whoever has no credential: the health
// check, the description of the surface, and where tokens come from.
func open(path string) bool {
	return path == "/healthz" || path == "/v1/openapi.json" || strings.HasPrefix(path, "/.well-known/")
}

// verdict is a policy about one request.
func verdict(who, arn string, allowed bool) events.APIGatewayCustomAuthorizerResponse {
	effect := "Deny"
	if allowed {
		effect = "Allow"
	}
	return events.APIGatewayCustomAuthorizerResponse{
		PrincipalID: who,
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version:   "2012-10-17",
			Statement: []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{arn}}},
		},
	}
}

package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcprelay/shared/event"
	"mcprelay/shared/relay"
)

// maxStream is the longest a REST API streams a response, in milliseconds
// (API Gateway developer guide, response transfer mode: 15 minutes).
const maxStream = 900_000

// check is one property of the translated template. find names every breach.
type check struct {
	name string
	find func(stack) []string
}

func checks() []check {
	return []check{
		{"streaming", streaming},
		{"timeouts", timeouts},
		{"routes", routes},
		{"invokers", invokers},
		{"statements", statements},
		{"environment", environment},
		{"functions", functions},
		{"logs", logs},
		{"trail", trail},
		{"sweep", sweep},
		{"kept", kept},
		{"sealing", sealing},
		{"tables", tables},
		{"challenges", challenges},
	}
}

// method is one method of one path of the API.
type method struct {
	route       string
	integration node
}

func methods(s stack) []method {
	var found []method
	for _, api := range s.of("AWS::ApiGateway::RestApi") {
		paths := s.resource(api).at("Properties", "Body", "paths")
		for _, path := range paths.names() {
			for _, verb := range paths.at(path).names() {
				found = append(found, method{verb + " " + path, paths.at(path, verb, "x-amazon-apigateway-integration")})
			}
		}
	}
	return found
}

// streaming: every integration streams (events.APIGatewayProxyStreamingResponse).
func streaming(s stack) (found []string) {
	const uri = "arn:aws:apigateway:${AWS::Region}:lambda:path/2021-11-15/functions/${RelayFunction.Arn}/response-streaming-invocations"
	for _, m := range methods(s) {
		for _, want := range [][2]string{{"type", "aws_proxy"}, {"httpMethod", "POST"}, {"responseTransferMode", "STREAM"}} {
			if got := m.integration.at(want[0]).text(); got != want[1] {
				found = append(found, fmt.Sprintf("%s: %s is %q, want %q", m.route, want[0], got, want[1]))
			}
		}
		if got := m.integration.at("uri", "Fn::Sub").text(); got != uri {
			found = append(found, fmt.Sprintf("%s: the uri is %q", m.route, got))
		}
	}
	return found
}

// timeouts: the relay's own budget ends first, then the function, then the edge.
func timeouts(s stack) (found []string) {
	function := s.resource("RelayFunction").at("Properties", "Timeout").number() * 1000
	budget := float64((relay.CallBudget + relay.RecordBudget + relay.Reserve + event.Reserve) / time.Millisecond)
	if function <= budget {
		found = append(found, fmt.Sprintf("the function ends after %v ms, a call may take %v ms", function, budget))
	}
	for _, m := range methods(s) {
		if edge := m.integration.at("timeoutInMillis").number(); edge <= function || edge > maxStream {
			found = append(found, fmt.Sprintf("%s: the edge waits %v ms, want more than %v and at most %d", m.route, edge, function, maxStream))
		}
	}
	return found
}

// routes: exactly these; the methods that are not POST are there to be answered 405.
func routes(s stack) []string {
	var have []string
	for _, m := range methods(s) {
		have = append(have, m.route)
	}
	return differences(have, []string{
		"delete /v1/mcp",
		"get /v1/mcp",
		"post /v1/mcp",
		"get /v1/openapi.json",
		"get /v1/servers",
		"delete /v1/runs/{run}",
		"delete /v1/turns/{turn}",
		"get /v1/servers/{server}/prompts",
		"get /v1/servers/{server}/resources",
		"get /v1/servers/{server}/tools",
		"delete /v1/servers/{server}/mcp",
		"get /.well-known/oauth-protected-resource",
		"get /.well-known/oauth-protected-resource/v1/mcp",
		"get /.well-known/oauth-protected-resource/v1/servers/{server}/mcp",
		"get /healthz",
		"get /v1/servers/{server}/mcp",
		"post /v1/servers/{server}/mcp",
		"post /v1/servers/{server}/tools/{tool}",
		"post /v1/turns",
		"post /v1/admin/simulate",
	})
}

// invokers: only this API may invoke the relay, only its authorizers the edge
// check, only the schedule's rule the sweep, and nothing the other function.
func invokers(s stack) (found []string) {
	api := 0
	for _, name := range s.of("AWS::Lambda::Permission") {
		p := s.resource(name).at("Properties")
		source := p.at("SourceArn").text()
		function := p.at("FunctionName", "Ref").text()
		if function == "" {
			function = p.at("FunctionName").text()
		}
		switch function + " by " + p.at("Principal").text() {
		case attribute("AuthorizerFunction", "Arn") + " by apigateway.amazonaws.com":
			if !strings.Contains(source, ":${__ApiId__}/authorizers/") || !strings.Contains(source, `"__ApiId__":{"Ref":"RelayApi"}`) {
				found = append(found, name+" lets more than the API's authorizers invoke the edge check")
			}
		case "RelayFunction by apigateway.amazonaws.com":
			api++
			if !strings.Contains(source, ":${__ApiId__}/") || !strings.Contains(source, `"__ApiId__":{"Ref":"RelayApi"}`) {
				found = append(found, name+" lets more than the API invoke the relay")
			}
		case "ReconcileFunction by events.amazonaws.com":
			if source != attribute("ReconcileFunctionSweep", "Arn") {
				found = append(found, name+" lets more than the schedule start a sweep")
			}
		default:
			found = append(found, name+" is a way in that nobody needs")
		}
	}
	if api != len(methods(s)) {
		found = append(found, "routes and permissions differ in number")
	}
	for _, name := range s.of("AWS::Lambda::Url") {
		found = append(found, name+" is a second way in")
	}
	return found
}

// statements: each role is exactly this. Only a secret's name may end in a
// wildcard, after the prefix, because its ARN ends in six random characters.
func statements(s stack) []string {
	var have, loose []string
	for _, name := range s.of("AWS::IAM::Role") {
		p := s.resource(name).at("Properties")
		if p.at("ManagedPolicyArns").value != nil || s.of("AWS::IAM::Policy") != nil || s.of("AWS::IAM::ManagedPolicy") != nil {
			loose = append(loose, name+" has statements that are not its own")
		}
		for _, policy := range p.at("Policies").list() {
			for _, st := range policy.at("PolicyDocument", "Statement").list() {
				for _, action := range st.at("Action").list() {
					if strings.Contains(action.text(), "*") {
						loose = append(loose, name+" has the wildcard action "+action.text())
					}
					line := fmt.Sprintf("%s %s %s on %s", name, st.at("Effect").text(), action.text(), st.at("Resource").text())
					if condition := st.at("Condition").text(); condition != "" {
						line += " if " + condition
					}
					have = append(have, line)
				}
			}
		}
	}
	return append(loose, differences(have, allowed())...)
}

func attribute(resource, name string) string {
	return fmt.Sprintf(`{"Fn::GetAtt":[%q,%q]}`, resource, name)
}

// leading is the condition that a request names partitions of some kinds only.
func leading(kinds ...string) string {
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%q", kind+"#*")
	}
	return fmt.Sprintf(` if {"ForAllValues:StringLike":{"dynamodb:LeadingKeys":[%s]},"Null":{"dynamodb:LeadingKeys":"false"}}`, strings.Join(kinds, ","))
}

// allowed is every statement of every role, one action each.
func allowed() []string {
	secrets := `{"Fn::Sub":"arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${SecretPrefix}*"}`
	lines := []string{
		"AuditRole Allow dynamodb:DescribeStream on " + attribute("AuditTable", "StreamArn"),
		"AuditRole Allow dynamodb:GetRecords on " + attribute("AuditTable", "StreamArn"),
		"AuditRole Allow dynamodb:GetShardIterator on " + attribute("AuditTable", "StreamArn"),
		`AuditRole Allow dynamodb:ListStreams on {"Fn::Sub":"${AuditTable.Arn}/stream/*"}`,
		"AuditRole Allow sqs:SendMessage on " + attribute("AuditFailures", "Arn"),
		"AuthorizerRole Allow dynamodb:GetItem on " + attribute("RegistryTable", "Arn") + leading("K", "I", "T"),
		"AuthorizerRole Allow dynamodb:Query on " + attribute("RegistryTable", "Arn") + leading("K", "I", "T"),
		`AuthorizerRole Allow secretsmanager:GetSecretValue on {"Ref":"SealSecret"}`,
		"ReconcileRole Allow dynamodb:Query on " + attribute("RegistryTable", "Arn") + leading("T"),
		`ReconcileRole Allow dynamodb:Query on {"Fn::Sub":"${StateTable.Arn}/index/expiry"}`,
		"RelayRole Allow dynamodb:DeleteItem on " + attribute("RegistryTable", "Arn") + leading("C"),
		"RelayRole Allow dynamodb:GetItem on " + attribute("RegistryTable", "Arn"),
		"RelayRole Allow dynamodb:PutItem on " + attribute("RegistryTable", "Arn") + leading("C"),
		"RelayRole Allow dynamodb:Query on " + attribute("RegistryTable", "Arn"),
		`RelayRole Allow dynamodb:Query on {"Fn::Sub":"${StateTable.Arn}/index/run"}`,
		"RelayRole Allow dynamodb:UpdateItem on " + attribute("StateTable", "Arn") + leading("B"),
		`RelayRole Allow secretsmanager:GetSecretValue on {"Ref":"SealSecret"}`,
	}
	for _, name := range []string{"Audit", "Authorizer", "Reconcile", "Relay"} {
		lines = append(lines,
			name+"Role Allow logs:CreateLogStream on "+attribute(name+"Logs", "Arn"),
			name+"Role Allow logs:PutLogEvents on "+attribute(name+"Logs", "Arn"))
	}
	for _, role := range []string{"ReconcileRole", "RelayRole"} { // both run calls
		lines = append(lines,
			role+" Allow dynamodb:GetItem on "+attribute("AuditTable", "Arn"),
			role+" Allow dynamodb:GetItem on "+attribute("StateTable", "Arn"),
			role+" Allow dynamodb:PutItem on "+attribute("AuditTable", "Arn"),
			role+" Allow dynamodb:PutItem on "+attribute("StateTable", "Arn"),
			role+" Allow secretsmanager:GetSecretValue on "+secrets)
	}
	return lines
}

// environment: a function's variables are these references; a secret's value
// has no way into one.
func environment(s stack) []string {
	var have []string
	for _, name := range s.of("AWS::Lambda::Function") {
		variables := s.resource(name).at("Properties", "Environment", "Variables")
		for _, v := range variables.names() {
			have = append(have, name+" "+v+" "+variables.at(v).text())
		}
	}
	var want []string
	for _, name := range []string{"AuthorizerFunction", "ReconcileFunction", "RelayFunction"} {
		want = append(want,
			name+` RELAY_AUDIT_TABLE {"Ref":"AuditTable"}`,
			name+` RELAY_OWN_HOSTS {"Ref":"OwnHosts"}`,
			name+` RELAY_REGISTRY_TABLE {"Ref":"RegistryTable"}`,
			name+` RELAY_SECRET_PREFIX {"Ref":"SecretPrefix"}`,
			name+` RELAY_STATE_TABLE {"Ref":"StateTable"}`)
	}
	return differences(have, append(want,
		`AuthorizerFunction RELAY_PUBLIC_URL {"Ref":"PublicUrl"}`,
		`AuthorizerFunction RELAY_SEAL_SECRET {"Ref":"SealSecret"}`,
		`RelayFunction RELAY_AUTHORIZATION_SERVERS {"Ref":"AuthorizationServers"}`,
		`RelayFunction RELAY_PUBLIC_URL {"Ref":"PublicUrl"}`,
		`RelayFunction RELAY_SEAL_SECRET {"Ref":"SealSecret"}`))
}

// differences names what one side has and the other has not.
func differences(have, want []string) (found []string) {
	count := map[string]int{}
	for _, h := range have {
		count[h]++
	}
	for _, w := range want {
		count[w]--
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		switch {
		case count[k] > 0:
			found = append(found, "there is, and should not be: "+k)
		case count[k] < 0:
			found = append(found, "there is not, and should be: "+k)
		}
	}
	return found
}

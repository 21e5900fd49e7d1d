package template_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTranslatedTemplateHoldsEveryRule(t *testing.T) {
	translated := translate(t, read(t))[0]
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, breach := range c.find(translated) {
				t.Error(breach)
			}
		})
	}
}

func TestTheLinterAcceptsSourceAndTranslation(t *testing.T) {
	translated := filepath.Join(t.TempDir(), "translated.json")
	raw, err := json.Marshal(translate(t, read(t))[0].root.value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(translated, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "cfn-lint", "-r", "us-east-1", "-t", source, translated); strings.TrimSpace(out) != "" {
		t.Errorf("cfn-lint says:\n%s", out)
	}
}

// mutation is a plausible mistake in the template, and the rule that must
// catch it.
type mutation struct{ name, old, new, check string }

func mutations() []mutation {
	return []mutation{
		{"the API's own word for the transfer mode", "ResponseTransferMode: RESPONSE_STREAM", "ResponseTransferMode: STREAM", "streaming"},
		{"no transfer mode", "            ResponseTransferMode: RESPONSE_STREAM\n", "", "streaming"},
		{"a timeout over the quota", "TimeoutInMillis: 90000", "TimeoutInMillis: 1200000", "timeouts"},
		{"an edge that gives up before the function", "TimeoutInMillis: 90000", "TimeoutInMillis: 29000", "timeouts"},
		{"an edge without a timeout", "            TimeoutInMillis: 90000\n", "", "timeouts"},
		{"a function that ends before a call", "Timeout: 75", "Timeout: 60", "timeouts"},
		{"no way to close a run", "            Path: /v1/runs/{run}\n", "            Path: /v1/runs\n", "routes"},
		{"a sweep that anybody on the bus starts", "          Type: Schedule\n          Properties:\n            Description: Closes the upstream sessions whose time is over.\n            Schedule: rate(5 minutes)\n            RetryPolicy: {MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 240}\n", "          Type: SNS\n          Properties:\n            Topic: arn:aws:sns:us-east-1:123456789012:sweep\n", "invokers"},
		{"catalogs that reach into registrations", `ForAllValues:StringLike: {"dynamodb:LeadingKeys": ["C#*"]}`, `ForAllValues:StringLike: {"dynamodb:LeadingKeys": ["*"]}`, "statements"},
		{"counters that reach into sessions", `ForAllValues:StringLike: {"dynamodb:LeadingKeys": ["B#*"]}`, `ForAllValues:StringLike: {"dynamodb:LeadingKeys": ["*"]}`, "statements"},
		{"a condition that nothing meets is met", "                  \"Null\": {\"dynamodb:LeadingKeys\": \"false\"}\n", "", "statements"},
		{"tokens for the sweep", "                Condition:\n                  ForAllValues:StringLike: {\"dynamodb:LeadingKeys\": [\"T#*\"]}\n                  \"Null\": {\"dynamodb:LeadingKeys\": \"false\"}\n", "", "statements"},
		{"every index", `"${StateTable.Arn}/index/run"`, `"${StateTable.Arn}/index/*"`, "statements"},
		{"runs that cannot be found", "              - Sid: FindSessionsOfARun\n                Effect: Allow\n                Action: [dynamodb:Query]\n                Resource: !Sub \"${StateTable.Arn}/index/run\"\n", "", "statements"},
		{"the relay's role for the sweep", "Role: !GetAtt ReconcileRole.Arn", "Role: !GetAtt RelayRole.Arn", "functions"},
		{"logs of the sweep that SAM makes", "        LogGroup: !Ref ReconcileLogs\n", "", "logs"},
		{"sweeps once a day", "rate(5 minutes)", "rate(1 day)", "sweep"},
		{"sweeps twice a day", "rate(5 minutes)", "rate(720 minutes)", "sweep"},
		{"sweeps that overlap", "rate(5 minutes)", "rate(2 minutes)", "sweep"},
		{"a sweep that ends early", "Timeout: 120", "Timeout: 30", "sweep"},
		{"a sweep that the schedule repeats", "            RetryPolicy: {MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 240}\n", "", "sweep"},
		{"a sweep that Lambda repeats", "      EventInvokeConfig: {MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 240}\n", "", "sweep"},
		{"a schedule that is switched off", "            Schedule: rate(5 minutes)\n", "            Schedule: rate(5 minutes)\n            Enabled: false\n", "sweep"},
		{"two schedules", "            Schedule: rate(5 minutes)\n", "            Schedule: rate(5 minutes)\n            Name: x\n        Other:\n          Type: Schedule\n          Properties:\n            Schedule: rate(5 minutes)\n", "sweep"},
		{"a function that outlives the edge", "Timeout: 75", "Timeout: 90", "timeouts"},
		{"a route less", "Path: /healthz", "Path: /health", "routes"},
		{"a method less", "Method: delete", "Method: put", "routes"},
		{"a function URL", "      MemorySize: 512\n", "      MemorySize: 512\n      FunctionUrlConfig: {AuthType: NONE}\n", "invokers"},
		{"a wildcard action", "Action: [dynamodb:Query, dynamodb:GetItem]", "Action: [\"dynamodb:*\"]", "statements"},
		{"one action more", "Action: [dynamodb:Query, dynamodb:GetItem]", "Action: [dynamodb:Query, dynamodb:GetItem, dynamodb:PutItem]", "statements"},
		{"every resource", "Resource: !GetAtt StateTable.Arn", "Resource: \"*\"", "statements"},
		{"every secret", "secret:${SecretPrefix}*", "secret:*", "statements"},
		{"a role that SAM makes", "      Role: !GetAtt RelayRole.Arn\n", "", "statements"},
		{"a managed policy", "      Policies:\n        - PolicyName: relay", "      ManagedPolicyArns: [\"arn:aws:iam::aws:policy/ReadOnlyAccess\"]\n      Policies:\n        - PolicyName: relay", "statements"},
		{"the other's role", "Role: !GetAtt RelayRole.Arn", "Role: !GetAtt AuditRole.Arn", "functions"},
		{"a secret in the environment", "          RELAY_OWN_HOSTS: !Ref OwnHosts\n", "          RELAY_OWN_HOSTS: !Ref OwnHosts\n          DOCS_TOKEN: \"{{resolve:secretsmanager:mcprelay/docs}}\"\n", "environment"},
		{"secrets of every tenant", "          RELAY_SECRET_PREFIX: !Ref SecretPrefix\n", "", "environment"},
		{"a table's name spelled out", "RELAY_AUDIT_TABLE: !Ref AuditTable", "RELAY_AUDIT_TABLE: audit", "environment"},
		{"another processor", "Architectures: [arm64]", "Architectures: [x86_64]", "functions"},
		{"SAM's own Go builder", "BuildMethod: makefile", "BuildMethod: go1.x", "functions"},
		{"a function nobody can build", "  AuditFunction:\n", "  AuditsFunction:\n", "functions"},
		{"traced bodies", "DataTraceEnabled: false", "DataTraceEnabled: true", "logs"},
		{"logs that SAM makes", "        LogGroup: !Ref RelayLogs\n", "", "logs"},
		{"logs for ever", "      RetentionInDays: !Ref LogRetentionDays\n", "", "logs"},
		{"the trail's tail only", "StartingPosition: TRIM_HORIZON", "StartingPosition: LATEST", "trail"},
		{"expiry as news", `["INSERT","MODIFY"]`, `["INSERT","MODIFY","REMOVE"]`, "trail"},
		{"inserts only", `["INSERT","MODIFY"]`, `["INSERT"]`, "trail"},
		{"batches that fail whole", "            FunctionResponseTypes: [ReportBatchItemFailures]\n", "", "trail"},
		{"a record that blocks its shard", "            MaximumRetryAttempts: 10\n", "", "trail"},
		{"no bisecting", "BisectBatchOnFunctionError: true", "BisectBatchOnFunctionError: false", "trail"},
		{"a table without recovery", "PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false", "tables"},
		{"items that never expire", "TimeToLiveSpecification: {AttributeName: exp, Enabled: true}", "TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}", "tables"},
		{"a stream of keys", "StreamViewType: NEW_IMAGE", "StreamViewType: KEYS_ONLY", "tables"},
		{"an index of another key", "- {AttributeName: agent_pk, KeyType: HASH}", "- {AttributeName: run_pk, KeyType: HASH}", "tables"},
		{"capacity to be planned", "      BillingMode: PAY_PER_REQUEST\n", "      ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1}\n", "tables"},
		{"a table less", "  StateTable:\n    Type: AWS::DynamoDB::Table", "  StatesTable:\n    Type: AWS::DynamoDB::Table", "tables"},
		{"a sealing key that goes with the stack", "  SealSecret:\n    Type: AWS::SecretsManager::Secret\n    DeletionPolicy: Retain\n", "  SealSecret:\n    Type: AWS::SecretsManager::Secret\n", "kept"},
		{"a sealing key written down", "      GenerateSecretString: {PasswordLength: 64, ExcludePunctuation: true}\n", "      SecretString: correct-horse-battery-staple-and-some-more\n", "sealing"},
		{"a short sealing key", "PasswordLength: 64", "PasswordLength: 16", "sealing"},
		{"a sealing key that a tenant can name", "      GenerateSecretString: {PasswordLength: 64,", "      Name: !Sub \"${SecretPrefix}acme/seal\"\n      GenerateSecretString: {PasswordLength: 64,", "sealing"},
		{"a sealing key that the relay may not read", "              - Sid: ReadTheSealingKey\n                Effect: Allow\n                Action: [secretsmanager:GetSecretValue]\n                Resource: !Ref SealSecret\n", "", "statements"},
		{"a relay without its sealing key", "          RELAY_SEAL_SECRET: !Ref SealSecret\n", "", "environment"},
		{"an edge check that reads catalogs", `["K#*", "I#*", "T#*"]`, `["*"]`, "statements"},
		{"an edge check with the relay's role", "Role: !GetAtt AuthorizerRole.Arn", "Role: !GetAtt RelayRole.Arn", "functions"},
		{"an edge check that keeps what it was told", "Identity: {ReauthorizeEvery: 0}", "Identity: {ReauthorizeEvery: 300, Headers: [Authorization]}", "challenges"},
		{"a check of one header", "FunctionPayloadType: REQUEST\n            Identity: {ReauthorizeEvery: 0}", "Identity: {Header: Authorization, ReauthorizeEvery: 0}", "challenges"},
		{"a refusal as forbidden", "        ACCESS_DENIED:\n          StatusCode: 401", "        ACCESS_DENIED:\n          StatusCode: 403", "challenges"},
		{"a challenge that names no metadata", "/.well-known/oauth-protected-resource/v1/mcp\\\"'\"", "\\\"'\"", "challenges"},
		{"metadata that nobody can read", "            Path: /.well-known/oauth-protected-resource\n", "            Path: /.well-known/oauth-protected\n", "routes"},
		{"clients that are not told where the relay is", "          RELAY_PUBLIC_URL: !Ref PublicUrl\n", "", "environment"},
		{"an audit trail that goes with the stack", "    DeletionPolicy: Retain\n", "    DeletionPolicy: Delete\n", "kept"},
	}
}

// The rules are worth what they catch: each mistake is put into a copy of the
// template, and must be named by its rule.
func TestEveryRuleCatchesItsMistakes(t *testing.T) {
	original, all := read(t), mutations()
	var copies []string
	for _, m := range all {
		if !strings.Contains(original, m.old) {
			t.Fatalf("%s: the template no longer holds %q", m.name, m.old)
		}
		copies = append(copies, strings.ReplaceAll(original, m.old, m.new))
	}
	find, caught := map[string]func(stack) []string{}, map[string]bool{}
	for _, c := range checks() {
		find[c.name] = c.find
	}
	for i, mutated := range translate(t, copies...) {
		m := all[i]
		t.Run(m.check+": "+m.name, func(t *testing.T) {
			if len(find[m.check](mutated)) == 0 {
				t.Errorf("the rule %s accepts it", m.check)
			}
		})
		caught[m.check] = true
	}
	for _, c := range checks() {
		if !caught[c.name] {
			t.Errorf("no mistake tries the rule %s", c.name)
		}
	}
}

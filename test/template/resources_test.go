package template_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/store/dynamo"
)

// functions: each runs its own bootstrap on arm64 under its own role, and the
// Makefile knows how to build it.
func functions(s stack) (found []string) {
	for _, name := range s.of("AWS::Lambda::Function") {
		f := s.resource(name)
		role := strings.TrimSuffix(name, "Function") + "Role"
		for _, want := range [][2]string{
			{f.at("Properties", "Runtime").text(), "provided.al2023"},
			{f.at("Properties", "Architectures").text(), `["arm64"]`},
			{f.at("Properties", "Handler").text(), "bootstrap"},
			{f.at("Properties", "Role").text(), attribute(role, "Arn")},
			{f.at("Metadata", "BuildMethod").text(), "makefile"},
		} {
			if want[0] != want[1] {
				found = append(found, fmt.Sprintf("%s: got %s, want %s", name, want[0], want[1]))
			}
		}
		found = append(found, recipe(name)...)
	}
	return found
}

// recipe asks make, without building, how it would build a function.
func recipe(name string) (found []string) {
	out, err := exec.Command("make", "-n", "-C", "../..", "build-"+name, "ARTIFACTS_DIR=artifacts").CombinedOutput()
	if err != nil {
		return []string{name + ": the Makefile has no target for it"}
	}
	folder := "./functions/" + strings.ToLower(strings.TrimSuffix(name, "Function"))
	for _, part := range []string{"CGO_ENABLED=0", "GOARCH=arm64", "-trimpath", "-tags lambda.norpc", "-s -w", "-o artifacts/bootstrap", folder} {
		if !strings.Contains(string(out), part) {
			found = append(found, name+": the recipe lacks "+part)
		}
	}
	return found
}

// logs: each function writes to its own group, which forgets after a while,
// and the API writes no bodies anywhere.
func logs(s stack) (found []string) {
	for _, name := range s.of("AWS::Lambda::Function") {
		group := s.resource(name).at("Properties", "LoggingConfig", "LogGroup", "Ref").text()
		want := strings.TrimSuffix(name, "Function") + "Logs"
		if group != want || s.resource(group).at("Properties", "RetentionInDays").value == nil {
			found = append(found, fmt.Sprintf("%s: logs go to %q, want %q with a retention", name, group, want))
		}
	}
	for _, name := range s.of("AWS::ApiGateway::Stage") {
		for _, setting := range s.resource(name).at("Properties", "MethodSettings").list() {
			if !setting.at("DataTraceEnabled").is(false) {
				found = append(found, name+": bodies and headers are traced")
			}
		}
	}
	return found
}

// trail: the audit table's stream reaches its function whole, and what the
// function cannot publish is set aside.
func trail(s stack) (found []string) {
	names := s.of("AWS::Lambda::EventSourceMapping")
	if len(names) != 1 {
		return []string{fmt.Sprintf("there are %d event source mappings, want 1", len(names))}
	}
	p := s.resource(names[0]).at("Properties")
	for member, want := range map[string]string{
		"EventSourceArn":             attribute("AuditTable", "StreamArn"),
		"FunctionName":               `{"Ref":"AuditFunction"}`,
		"StartingPosition":           "TRIM_HORIZON",
		"BisectBatchOnFunctionError": "true",
		"FunctionResponseTypes":      `["ReportBatchItemFailures"]`,
		"FilterCriteria":             `{"Filters":[{"Pattern":"{\"eventName\":[\"INSERT\",\"MODIFY\"]}"}]}`,
		"DestinationConfig":          `{"OnFailure":{"Destination":` + attribute("AuditFailures", "Arn") + `}}`,
	} {
		if got := p.at(member).text(); got != want {
			found = append(found, fmt.Sprintf("%s is %s, want %s", member, got, want))
		}
	}
	if retries := p.at("MaximumRetryAttempts").number(); retries < 1 || retries > 100 {
		found = append(found, fmt.Sprintf("a record that fails is tried %v times more", retries))
	}
	if s.resource("AuditFailures").at("Type").text() != "AWS::SQS::Queue" {
		found = append(found, "AuditFailures is no queue")
	}
	return found
}

// kept: removing the stack leaves what cannot be made again.
func kept(s stack) (found []string) {
	for _, name := range []string{"RegistryTable", "AuditTable", "AuditFailures", "AuditLogs", "SealSecret"} {
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if got := s.resource(name).at(policy).text(); got != "Retain" {
				found = append(found, fmt.Sprintf("%s: %s is %q, want Retain", name, policy, got))
			}
		}
	}
	return found
}

// sealing: the key's secret is made by AWS, long enough to be a key, and has no
// name that a tenant's reference could be given.
func sealing(s stack) (found []string) {
	if names := s.of("AWS::SecretsManager::Secret"); len(names) != 1 || names[0] != "SealSecret" {
		return []string{fmt.Sprintf("the secrets are %q, want SealSecret alone", names)}
	}
	p := s.resource("SealSecret").at("Properties")
	if length := p.at("GenerateSecretString", "PasswordLength").number(); length < 64 {
		found = append(found, fmt.Sprintf("the secret has %v characters, want 64", length))
	}
	for _, own := range []string{"Name", "SecretString"} {
		if got := p.at(own).text(); got != "" {
			found = append(found, fmt.Sprintf("the secret's %s is %q, want none", own, got))
		}
	}
	return found
}

// tables: the deployed tables are those that the store describes, no other,
// and are paid for by the request.
func tables(s stack) (found []string) {
	var names []string
	for _, table := range dynamo.Schema() {
		name := strings.ToUpper(table.Name[:1]) + table.Name[1:] + "Table"
		names = append(names, name)
		raw, err := json.Marshal(table)
		if err != nil {
			return []string{err.Error()}
		}
		want := map[string]any{"BillingMode": "PAY_PER_REQUEST"}
		if err := json.Unmarshal(raw, &want); err != nil {
			return []string{err.Error()}
		}
		if diff := cmp.Diff(any(want), s.resource(name).at("Properties").value); diff != "" {
			found = append(found, fmt.Sprintf("%s (-store +template):\n%s", name, diff))
		}
	}
	return append(found, differences(s.of("AWS::DynamoDB::Table"), names)...)
}

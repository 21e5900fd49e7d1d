package config_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/config"

	"github.com/google/go-cmp/cmp"
)

// Things that look like a secret, in two parts so that no scanner of this
// repository takes them for one.
var lookalikes = []string{
	"sk-" + "proj-a1B2c3D4e5F6", "gh" + "p_abcdefghij0123456789", "github" + "_pat_11ABCDEFG0abcdefgh", "gl" + "pat-abcdefghij0123456789",
	"xox" + "b-123456789012-AbCdEfGhIj", "mr" + "t_AAAAAAAAbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbcccccc", "ey" + "JhbGciOiJIUzI1NiJ9.e30.abc",
	"AIz" + "aSyA-1234567890abcdef", "ya" + "29.a0AfH6SMBx-abcdef", "np" + "m_abcdefghij0123456789", "h" + "f_abcdefghijKLMNOP",
	"sk_" + "live_abcdefghij01", "SG" + ".abcDefghij.KLMNoPQRST",
	"3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9e107d9d372bb6826bd81d3542a419d6", "Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu",
	"acme/Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu", "hunter2!", "pass word", "Bearer abc", "ümlaut", "a\nb", "", "$TOKEN", "${TOKEN}", "env:TOKEN",
	"arn:aws:secretsmanager:eu-west-1:1234:secret:x", "arn:aws:ssm:eu-west-1:123456789012:parameter/x", strings.Repeat("a", 513),
}

func TestSecretsInTheFileAreRefused(t *testing.T) {
	const want = "it looks like a secret itself; write the name of an environment variable, or the name or ARN of a Secrets Manager secret"
	for _, value := range lookalikes {
		places := map[string]object{
			"servers[0].secrets.key":        bearer(object{"key": value}),
			"servers[0].secrets.key.env":    bearer(object{"key": object{"env": value}}),
			"servers[0].secrets.key.secret": bearer(object{"key": object{"secret": value}}),
		}
		for path, e := range places {
			got := problems(t, one(e), config.Options{})
			if diff := cmp.Diff([]string{path + ": " + want}, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", value, diff)
			}
		}
	}
}

func TestNamesOfSecretsAreAccepted(t *testing.T) {
	arn := "arn:aws:secretsmanager:eu-west-1:123456789012:secret:acme/docs-AbCdEf"
	sources := []any{
		"DOCS_TOKEN", "docs_token", "_X", "T", "acme/docs", "acme/docs-token", "prod.docs@1", arn, strings.Replace(arn, "aws:", "aws-us-gov:", 1),
		object{"env": "DOCS_TOKEN"}, object{"secret": "acme/docs"}, object{"secret": arn}, object{"env": "DOCS_TOKEN", "secret": arn},
		"A_LONG_NAME_OF_A_VARIABLE_THAT_SAYS_WHAT_IT_IS_FOR_2", "SK_TOKEN_OF_DOCS_2026", "secret_of_documents", "npm_publish_token_2", "sk-docs-production-token", "hf_inference",
	}
	for _, source := range sources {
		if got := problems(t, one(bearer(object{"key": source})), config.Options{}); got != nil {
			t.Errorf("%v: %q", source, got)
		}
	}
}

func TestTheRelaysOwnVariablesAreRefused(t *testing.T) {
	for _, env := range []string{"AWS_SECRET_ACCESS_KEY", "aws_session_token", "_AWS_XRAY_DAEMON_ADDRESS", "LAMBDA_TASK_ROOT", "_LAMBDA_TELEMETRY_LOG_FD", "_X_AMZN_TRACE_ID", "_HANDLER"} {
		for _, source := range []any{env, object{"env": env}} {
			if got := problems(t, one(bearer(object{"key": source})), config.Options{}); len(got) != 1 {
				t.Errorf("%v: got %q, want one problem", source, got)
			}
		}
		caller := object{"subject": "dev", "kind": "user", "scopes": []any{}, "token_env": env}
		if got := problems(t, file([]any{}, "callers", []any{caller}), config.Options{}); len(got) != 1 {
			t.Errorf("a caller's %s: got %q, want one problem", env, got)
		}
	}
}

// Wherever a secret was put by mistake, the error does not repeat it.
func TestProblemsNeverRepeatASecret(t *testing.T) {
	const leaked = "Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu"
	places := map[string]any{
		"source":       one(bearer(object{"key": leaked})),
		"source env":   one(bearer(object{"key": object{"env": leaked}})),
		"reference":    one(entry("docs", "auth", object{"type": "bearer", "token_ref": leaked})),
		"token":        one(entry("docs", "auth", object{"type": "bearer", "token": leaked})),
		"type":         one(entry("docs", "auth", object{"type": leaked})),
		"auth":         one(entry("docs", "auth", leaked)),
		"header":       one(entry("docs", "auth", object{"type": "headers", "headers": []any{object{"as": "X " + leaked, "token_ref": "key"}}})),
		"query":        one(entry("docs", "endpoint", url+"?api_key="+leaked)),
		"userinfo":     one(entry("docs", "endpoint", "https://u:"+leaked+"@mcp.example.com/v1")),
		"allowed":      one(entry("docs", "allowed_endpoints", []any{url + "?token=" + leaked})),
		"network":      one(with(entry("docs"), "allowed_networks", []any{leaked})),
		"setting":      file([]any{}, "audit_intent", leaked),
		"token_env":    file([]any{}, "callers", []any{object{"subject": "dev", "kind": "user", "scopes": []any{}, "token_env": leaked}}),
		"scope":        file([]any{}, "callers", []any{object{"subject": "dev", "kind": "user", "scopes": []any{leaked}, "token_env": "X"}}),
		"tenant":       `{"tenant":"` + leaked + ` x"}`,
		"broken":       `{"tenant":"acme","servers":[{"secrets":{"key":"` + leaked + `"`,
		"broken value": `{"tenant":"acme","servers":[{"secrets":{"key":` + leaked + `}}]}`,
		"broken pair":  `{"tenant":"acme","servers":[{"secrets":{"key":"\ud800` + leaked + `"}}]}`,
		"source name":  one(with(entry("docs"), "secrets", object{leaked: 1})),
		"second name":  file([]any{with(entry(leaked), "secrets", object{"key": "ONE"}), with(entry("b"), "secrets", object{"key": "TWO"})}),
		"tool":         one(entry("docs", "allowed_tools", []any{leaked})),
		"tool twice":   one(entry("docs", "bindings", object{leaked: "x", "b": "x"})),
		"number":       one(entry("docs", "max_tools", raw("98765432"+"10123"))),
		"decision":     file([]any{}, "rules", []any{object{"action": "mcp.*", "decision": leaked}}),
		"action":       file([]any{}, "rules", []any{object{"action": "mcp.docs." + leaked + ".*", "decision": "deny"}}),
		"field":        one(entry("docs", leaked, 1)),
	}
	for name, f := range places {
		_, err := config.Parse("relay.json", text(t, f), config.Options{})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), leaked[:6]) || strings.Contains(err.Error(), "987654") {
			t.Errorf("%s: the error repeats it: %v", name, err)
		}
	}
}

// Whatever string of a whole file is replaced by a secret, no error repeats it:
// one that looks like a secret nowhere, one that might be a name only where
// the names of servers and tools belong, and as the name of a field.
func TestNoPlaceOfAFileRepeatsASecret(t *testing.T) {
	for _, name := range []string{"relay.json", "local.json"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		// Without a folder, a file that is named would be a problem of its own.
		whole = bytes.Replace(whole, []byte(`"file": "policies/reads-only.rego"`), []byte(`"source": "package chalk.policy\n\ndeny contains input.auth.subject if true"`), 1)
		if _, err := config.Parse(name, whole, config.Options{Loopback: true, Processes: true}); err != nil {
			t.Fatal(err)
		}
		if failed := replaceEach(t, whole); failed < 70 {
			t.Errorf("%s: only %d files were refused", name, failed)
		}
	}
}

// replaceEach puts secrets in place of each string, and counts the refusals.
func replaceEach(t *testing.T, whole []byte) (failed int) {
	names := []string{`"docs"`, `"wiki"`, `"search"`, `"read_document"`, `"read"`, `"find"`}
	for _, at := range regexp.MustCompile(`"[^"]*"`).FindAllIndex(whole, -1) {
		literal, field := string(whole[at[0]:at[1]]), whole[at[1]] == ':'
		for _, leaked := range []string{"Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu", "hunter2!hunter2!", "correct-horse-battery"} {
			text := slices.Concat(whole[:at[0]], []byte(`"`+leaked+`"`), whole[at[1]:])
			_, err := config.Parse("relay.json", text, config.Options{Processes: true})
			if err == nil {
				continue // a description, for one
			}
			failed++
			isName := slices.Contains(names, literal) || field && leaked == "correct-horse-battery"
			if strings.Contains(err.Error(), leaked) && (!isName || leaked[0] == 'Z') {
				t.Errorf("in place of %s at %d: %v", literal, at[0], err)
			}
		}
	}
	return failed
}

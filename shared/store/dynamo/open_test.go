package dynamo_test

import (
	"strings"
	"testing"

	"mcprelay/shared/store/dynamo"
)

func TestAFunctionWithoutItsTablesDoesNotStart(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	whole := map[string]string{"RELAY_REGISTRY_TABLE": "r", "RELAY_STATE_TABLE": "s", "RELAY_AUDIT_TABLE": "a"}
	if _, err := dynamo.Open(t.Context(), func(name string) string { return whole[name] }); err != nil {
		t.Errorf("with everything: %v", err)
	}
	for missing := range whole {
		_, err := dynamo.Open(t.Context(), func(name string) string {
			if name == missing {
				return ""
			}
			return whole[name]
		})
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	if _, err := dynamo.Open(t.Context(), func(name string) string { return whole[name] }); err == nil {
		t.Error("without a region it starts")
	}
}

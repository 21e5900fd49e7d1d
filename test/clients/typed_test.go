package clients_test

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// typed reads a result that some client printed into the SDK's own type and
// writes it again: the form in which results are compared.
func typed(t *testing.T, method string, text []byte) []byte {
	t.Helper()
	results := map[string]any{
		"tools/list": &mcp.ListToolsResult{}, "resources/list": &mcp.ListResourcesResult{},
		"resources/templates/list": &mcp.ListResourceTemplatesResult{}, "prompts/list": &mcp.ListPromptsResult{},
		"tools/call": &mcp.CallToolResult{}, "resources/read": &mcp.ReadResourceResult{}, "prompts/get": &mcp.GetPromptResult{},
		"completion/complete": &mcp.CompleteResult{},
	}
	result := results[method]
	if result == nil {
		t.Fatalf("nobody asks %s", method)
	}
	if err := json.Unmarshal(text, result); err != nil {
		t.Fatalf("%s: %s: %v", method, end(text), err)
	}
	again, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

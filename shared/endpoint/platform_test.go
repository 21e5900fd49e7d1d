package endpoint_test

import (
	"testing"

	"mcprelay/shared/endpoint"
)

// Names by which platforms are reached from inside. Those of two labels under
// a real domain are lawful spellings, and their addresses are refused later;
// a private label is for servers whose registration names networks, and even
// there the address decides.
func TestNamesOfPlatforms(t *testing.T) {
	private := endpoint.Options{PrivateNames: true}
	for _, row := range []struct {
		host             string
		plain, inPrivate string
	}{
		{"sandbox", "single-label", "single-label"}, // the Lambda telemetry listener
		{"sandbox.localdomain", "reserved-name", "reserved-name"},
		{"instance-data", "single-label", "single-label"},
		{"metadata", "single-label", "single-label"},
		{"localhost.localdomain", "reserved-name", "reserved-name"},
		{"metadata.google.internal", "reserved-name", ""},
		{"instance-data.ec2.internal", "reserved-name", ""},
		{"metadata.goog", "", ""},
		{"metadata.tencentyun.com", "", ""},
		{"127.0.0.1.nip.io", "", ""},
	} {
		url := "https://" + row.host + "/mcp"
		if got := rule(t, url, endpoint.Options{}); got != row.plain {
			t.Errorf("%s: want %q, got %q", row.host, row.plain, got)
		}
		if got := rule(t, url, private); got != row.inPrivate {
			t.Errorf("%s with private names: want %q, got %q", row.host, row.inPrivate, got)
		}
	}
}

package wire_test

import (
	"net/http"
	"testing"

	"mcprelay/shared/wire"
)

func TestARequestThatPassedARelayIsKnown(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{"1.1 abc.cloudfront.example (CloudFront)"}, false},
		{[]string{wire.Via}, true},
		{[]string{"1.1 gateway, 1.1 MCPRelay"}, true},
		{[]string{"1.1 gateway", "1.0 other, 1.1 mcprelay (x)"}, true},
	} {
		if got := wire.Passed(http.Header{"Via": test.values}); got != test.want {
			t.Errorf("%q: got %v, want %v", test.values, got, test.want)
		}
	}
}

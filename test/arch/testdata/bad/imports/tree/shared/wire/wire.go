// Package wire leans on what stands beside it.
package wire

import (
	_ "mcprelay/cmd/relay"
	_ "mcprelay/shared/call"
	_ "mcprelay/shared/policy"
)

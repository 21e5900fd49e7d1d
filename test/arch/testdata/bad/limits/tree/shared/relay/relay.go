// Package relay reaches for what it may not have.
package relay

import (
	_ "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	_ "modernc.org/sqlite"
	_ "os/exec"
)

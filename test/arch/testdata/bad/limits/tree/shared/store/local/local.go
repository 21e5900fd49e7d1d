// Package local may have the one, not the other.
package local

import (
	_ "github.com/aws/aws-sdk-go-v2/config"
	_ "modernc.org/sqlite"
)

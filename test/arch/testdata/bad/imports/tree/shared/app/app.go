// Package app wires everything but stores.
package app

import (
	_ "mcprelay/shared/relay"
	_ "mcprelay/shared/store/local"
)

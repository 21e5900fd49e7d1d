// Package relay looks into a secret.
package relay

import "mcprelay/shared/secret"

func look(v secret.Value) []byte { return v.Expose() }

func take(v secret.Value) func() []byte { return v.Expose }

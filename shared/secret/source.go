package secret

import (
	"encoding/json"
	"errors"
)

// Source says where a secret's value is read: Env names an environment
// variable (local), Secret a Secrets Manager name or ARN (Lambda). In JSON it
// is {"env": …, "secret": …}, or one string that stands for both.
type Source struct {
	Env    string
	Secret string
}

// ErrNotFound is the error of a [Reader] whose source holds no such secret.
var ErrNotFound = errors.New("secret not found")

// errSource keeps the input out of the error: it may be a secret.
var errSource = errors.New(`a secret's source is a name or {"env": name, "secret": name}`)

// sourceObject is the JSON object of a Source.
type sourceObject struct {
	Env    string `json:"env,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// MarshalJSON writes the short form where one name stands for both.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Env == s.Secret {
		return json.Marshal(s.Env)
	}
	return json.Marshal(sourceObject(s))
}

// UnmarshalJSON reads either form. Its error never quotes the input.
func (s *Source) UnmarshalJSON(b []byte) error {
	var name string
	if json.Unmarshal(b, &name) == nil {
		*s = Source{Env: name, Secret: name}
		return nil
	}
	var object sourceObject
	if json.Unmarshal(b, &object) != nil {
		return errSource
	}
	*s = Source(object)
	return nil
}

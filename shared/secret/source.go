package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Source says where a secret's value is read: Env names an environment
// variable (local), Secret a Secrets Manager name or ARN (Lambda). In JSON it
// is {"env": …, "secret": …}, or one string that stands for both.
type Source struct {
	Env    string
	Secret string
}

// Overlaps reports whether s and o may read one secret: the same variable, or
// the same secret of Secrets Manager, be it by its name or by its ARN.
func (s Source) Overlaps(o Source) bool {
	return s.Env != "" && s.Env == o.Env || s.Secret != "" && sameSecret(s.Secret, o.Secret)
}

// sameSecret compares two names or ARNs. Secrets Manager takes an ARN without
// its last six random characters too, so one secret has a name and two ARNs.
func sameSecret(a, b string) bool {
	placeA, nameA := cutARN(a)
	placeB, nameB := cutARN(b)
	switch {
	case a == b:
		return true
	case placeA == "" && placeB == "", placeA != "" && placeB != "" && placeA != placeB:
		return false
	}
	return nameA == nameB || placeA != "" && bare(nameA) == nameB || placeB != "" && nameA == bare(nameB)
}

// arnFields is how many fields an ARN of Secrets Manager has:
// arn:<partition>:secretsmanager:<region>:<account>:secret:<name>-<random>.
const arnFields = 7

// Name is the name in Secrets Manager that the source gives, as it is or as
// the last field of an ARN, there with the six random characters at its end.
func (s Source) Name() string {
	_, name := cutARN(s.Secret)
	return name
}

// cutARN splits an ARN into what is before the name and the name. A name alone
// has no place.
func cutARN(id string) (place, name string) {
	fields := strings.SplitN(id, ":", arnFields)
	if len(fields) < arnFields || fields[0] != "arn" {
		return "", id
	}
	name = fields[arnFields-1]
	return strings.TrimSuffix(id, name), name
}

// bare is the name of an ARN without its hyphen and six random characters.
func bare(name string) string {
	if at := len(name) - len("-AbCdEf"); at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

// The errors of a [Reader] that has nothing to give.
var (
	// ErrNotFound says that the source holds no such secret.
	ErrNotFound = errors.New("secret not found")
	// ErrForeign is an ErrNotFound of a name that the tenant may not read,
	// whether there is such a secret or not.
	ErrForeign = fmt.Errorf("%w: its name is not one of the tenant's", ErrNotFound)
)

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

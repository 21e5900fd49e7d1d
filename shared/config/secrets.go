package config

import (
	"errors"
	"regexp"
	"strings"

	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// errValue never says what was found: it may be the secret.
var errValue = errors.New("it looks like a secret itself; write the name of an environment variable, or the name or ARN of a Secrets Manager secret")

var (
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	secretName = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`) // Secrets Manager, CreateSecret, Name
	secretARN  = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]{1,32}:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,519}$`)

	// What issuers of tokens begin them with, so that scanners find them; and
	// JSON Web Tokens, whose header begins with {".
	issued = regexp.MustCompile(`^(sk-|[srp]k_(live|test)_|gh[opusr]_|github_pat_|glpat-|xox[abprs]-|xapp-|mrt_|eyJ|AIza|ya29\.|npm_|pypi-|hf_|dop_v1_|shp(at|ca|pa|ss)_|SG\.|lin_api_|ntn_)`)
	uuid   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	run    = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// readSecrets reads where the secrets of a server come from.
func readSecrets(n node) map[string]secret.Source {
	var sources map[string]secret.Source
	for _, m := range n.entries() {
		if err := reference(m.name); err != nil {
			m.value.fail("the name of a secret: %v", err)
		}
		if sources == nil {
			sources = make(map[string]secret.Source)
		}
		sources[m.name] = readSource(m.value)
	}
	return sources
}

// reference checks the name that rules and the audit trail will call a secret.
func reference(s string) error {
	if value(s) {
		return errors.New("it looks like a secret itself")
	}
	return registry.Reference(s)
}

func readSource(n node) secret.Source {
	if n.kind == '"' {
		s := n.name(sourceName)
		return secret.Source{Env: s, Secret: s}
	}
	if n.kind != '{' {
		n.fail(`it must be a name, or {"env": …, "secret": …}`)
		return secret.Source{}
	}
	o := n.object("env secret")
	var s secret.Source
	if env := o.get("env"); env.present() {
		s.Env = env.name(environment)
	}
	if name := o.get("secret"); name.present() {
		s.Secret = name.name(secretsManager)
	}
	if len(o.members) == 0 {
		n.fail(`it is empty: env, secret or both are needed`)
	}
	return s
}

// sourceName checks a name that stands for both kinds of source.
func sourceName(s string) error {
	if envName.MatchString(s) {
		return environment(s)
	}
	return secretsManager(s)
}

func environment(s string) error {
	switch {
	case value(s) || !envName.MatchString(s):
		return errValue
	case reserved(s):
		return errors.New("this environment variable is the relay's or the platform's own")
	}
	return nil
}

func secretsManager(s string) error {
	if secretARN.MatchString(s) || secretName.MatchString(s) && !value(s) {
		return nil
	}
	return errValue
}

const (
	// A run of letters and digits this long, mixed, is no name that people
	// write: the shortest common random token, hex of 128 bits, has 32.
	longestName = 31
	// After what an issuer begins its tokens with, this is enough.
	longestIssued = 9
)

// value reports whether s looks like a secret rather than like its name.
func value(s string) bool {
	if uuid.MatchString(s) {
		return true
	}
	longest := longestName
	if prefix := issued.FindString(s); prefix != "" {
		longest, s = longestIssued, s[len(prefix):]
	}
	for _, r := range run.FindAllString(s, -1) {
		if len(r) > longest && mixed(r) {
			return true
		}
	}
	return false
}

// mixed reports whether letters of both cases, or letters and digits, make up s.
func mixed(s string) bool {
	kinds := 0
	for _, set := range []string{"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		if strings.ContainsAny(s, set) {
			kinds++
		}
	}
	return kinds > 1
}

// reserved reports whether an environment variable may hold the relay's own
// credentials, or what the platform keeps from everybody.
func reserved(env string) bool {
	for _, prefix := range []string{"AWS_", "_AWS_", "LAMBDA_", "_LAMBDA_", "_X_AMZN_", "_HANDLER"} {
		if strings.HasPrefix(strings.ToUpper(env), prefix) {
			return true
		}
	}
	return false
}

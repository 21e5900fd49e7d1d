package config

import (
	"errors"
	"regexp"
	"slices"

	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// readProcess reads a server that is a child process. It is false where this
// relay has no such servers, which is one problem, not one for each field.
func readProcess(entry, config object, s *registry.Server, o Options) bool {
	command := config.get("command")
	if !o.Processes {
		command.fail("a deployed relay cannot run processes: a server with a command is for a local relay only")
		return false
	}
	config.refuse("allowed_endpoints", "a child process has no endpoint that could be among these")
	config.refuse("tls", "a child process is not reached by TLS")
	config.refuse("ipv6", "a child process has no address")
	entry.refuse("allowed_networks", "a child process is in no network")
	s.Process = &registry.Process{
		Command: command.name(registry.Command),
		Args:    readArguments(config.get("args")),
		Env:     readVariables(config.get("env"), s.Secrets),
	}
	s.Auth = readEnvironment(config.get("auth"), s.Process.Env)
	return true
}

// readArguments reads args, which may be empty and may repeat itself.
func readArguments(n node) []string {
	if len(n.list()) > registry.MaxArguments {
		n.fail("it has more than %d arguments", registry.MaxArguments)
		return nil
	}
	var args []string
	for _, item := range n.list() {
		args = append(args, item.name(argument))
	}
	return args
}

var (
	// Digests that pin an image or a commit; they are no secrets.
	pinned = regexp.MustCompile(`\bsha(256|512):[0-9a-f]{64,128}\b|[@#][0-9a-f]{40}\b`)
	// What may stand before a value in an argument: --token=…, "Bearer …".
	within = regexp.MustCompile(`[=:,;& "']+`)
)

// argument checks an argument of a child process, which everybody on the
// machine can read.
func argument(s string) error {
	if holdsValue(s) {
		return errors.New("it looks like a secret itself; secrets go into env, by reference")
	}
	return registry.Argument(s)
}

// holdsValue reports whether a part of s looks like a secret.
func holdsValue(s string) bool {
	return slices.ContainsFunc(within.Split(pinned.ReplaceAllString(s, ""), -1), value)
}

// readVariables reads env: the variables of a child process and the references
// of their values.
func readVariables(n node, secrets map[string]secret.Source) map[string]string {
	if len(n.entries()) > registry.MaxVariables {
		n.fail("it has more than %d variables", registry.MaxVariables)
		return nil
	}
	var variables map[string]string
	for _, m := range n.entries() {
		if err := secret.Variable(m.name); err != nil {
			m.value.fail("the name of a variable: %v", err)
		}
		if variables == nil {
			variables = make(map[string]string)
		}
		variables[m.name] = readReference(m.value, secrets)
	}
	return variables
}

// readEnvironment reads the auth of a child process. Its credential is in its
// variables, whether auth says so or is not there.
func readEnvironment(n node, variables map[string]string) secret.Auth {
	auth := secret.Auth{Type: secret.TypeNone}
	if len(variables) > 0 {
		auth = secret.Auth{Type: secret.TypeEnvironment, Environment: variables}
	}
	if !n.present() || !n.is('{', "an object") {
		return auth
	}
	kind := object{n}.get("type")
	switch t := secret.Type(kind.text()); {
	case t == secret.TypeNone && len(variables) > 0:
		kind.fail("env gives the child process secrets: leave auth out, or write environment")
	case t == secret.TypeEnvironment && len(variables) == 0:
		kind.fail("it needs env, with a variable and its reference")
	case t == secret.TypeNone, t == secret.TypeEnvironment:
		n.object("type")
	case kind.kind == '"':
		kind.fail("a child process gets its credential in its variables: it is not one of none, environment")
	}
	return auth
}

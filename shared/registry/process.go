package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Process is how a server that is a child process is started. Such a server
// has no endpoint, no networks and no TLS settings.
type Process struct {
	Command string            // the name of a program, or its path from the root
	Args    []string          // hold no secrets: everybody on the machine can read them
	Env     map[string]string // variable -> reference; the same as the Environment of Auth
}

// Bounds of a child process. Linux takes 128 KiB in one argument and a quarter
// of the stack, usually 2 MiB, in all of them and the environment (execve(2));
// what these bounds allow stays under it.
const (
	MaxArguments = 64
	MaxArgument  = 4096
	MaxVariables = 32
	maxCommand   = 1024 // a quarter of PATH_MAX
)

// Command says what is wrong with the program of a child process.
func Command(s string) error {
	switch err := plainText(s, maxCommand); {
	case s == "":
		return errors.New("it is missing or empty")
	case err != nil:
		return err
	case strings.TrimSpace(s) != s:
		return errors.New("it begins or ends with a blank; arguments stand in args")
	case strings.Contains(s, "/") && (!filepath.IsAbs(s) || filepath.Clean(s) != s):
		return errors.New("it is neither the name of a program nor a clean path from the root: another path depends on where the relay was started")
	}
	return nil
}

// expansion is what a shell, or a client that expands its configuration,
// would replace.
var expansion = regexp.MustCompile(`\$(\{|[A-Za-z_])`)

// Argument says what is wrong with an argument of a child process. An empty
// one is fine.
func Argument(s string) error {
	if expansion.MatchString(s) {
		return errors.New("nothing is expanded in it: write what it stands for, and a secret into env")
	}
	return plainText(s, MaxArgument)
}

// plainText wants UTF-8 without control characters, of at most longest bytes.
func plainText(s string, longest int) error {
	switch {
	case len(s) > longest:
		return fmt.Errorf("it is longer than %d bytes", longest)
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	}
	if at := strings.IndexFunc(s, unicode.IsControl); at >= 0 {
		return fmt.Errorf("its byte %d is a control character", at+1)
	}
	return nil
}

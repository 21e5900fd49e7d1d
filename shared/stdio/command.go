package stdio

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcprelay/shared/call"
)

// locate finds the file to run. It is looked at each time, because it may have
// changed since the child before; the kernel has the last word.
func locate(command string) (string, *call.Refusal) {
	path := command
	if !filepath.IsAbs(command) {
		if command == "" || strings.ContainsRune(command, filepath.Separator) {
			return "", unrunnable(command, "is neither an absolute path nor a name", nil)
		}
		found, err := exec.LookPath(command)
		if err != nil || !filepath.IsAbs(found) { // a relative entry of PATH would mean another file elsewhere
			return "", unrunnable(command, "is not in the relay's PATH", err)
		}
		path = found
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", unrunnable(command, "cannot be looked at", err)
	case !info.Mode().IsRegular():
		return "", unrunnable(command, "is no regular file", nil)
	case info.Mode().Perm()&0o111 == 0:
		return "", unrunnable(command, "is not executable", nil)
	}
	return path, nil
}

// unrunnable is the refusal of a command that the operator has to change:
// trying again would not help.
func unrunnable(command, what string, err error) *call.Refusal {
	refusal := call.Refuse(call.ProcessFailed, "the command %q %s", command, what)
	refusal.Err = err
	return refusal
}

// checkEnv refuses what an environment cannot hold, and a name that is there
// twice: which of the two a child sees is up to its runtime. Values are never
// quoted.
func checkEnv(env []string) *call.Refusal {
	seen := make(map[string]bool, len(env))
	for i, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
			return call.Refuse(call.ProcessFailed, "entry %d of the environment has no name", i)
		case strings.ContainsRune(entry, 0):
			return call.Refuse(call.ProcessFailed, "the environment's %q holds a zero byte", name)
		case seen[name]:
			return call.Refuse(call.ProcessFailed, "the environment has %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

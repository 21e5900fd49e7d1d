package arch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Reach reports which of the forbidden import paths, with what is below them,
// the packages matching pattern reach through all their dependencies, built
// as for Lambda. root must hold a module.
func Reach(root, pattern string, forbidden ...string) ([]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", pattern)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing what %s depends on: %w: %s", pattern, err, strings.TrimSpace(complaint.String()))
	}
	var found []string
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for _, path := range forbidden {
			if under(dep, path) {
				found = append(found, dep)
			}
		}
	}
	return found, nil
}

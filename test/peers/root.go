package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// root is the folder of go.mod at or above the working directory: test
// binaries run in their package's folder. It is "." where there is none.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "."
		}
		dir = up
	}
}

// CacheDir is the folder that everything installed or counted by tests is in.
func CacheDir() string { return filepath.Join(root(), ".cache") }

// module is the path of a file inside an installed npm package.
func module(name string) string { return filepath.Join(CacheDir(), "npm", "node_modules", name) }

// tool finds an installed program among the Go ones and the Python ones.
func tool(name string) (string, error) {
	for _, dir := range []string{"bin", filepath.Join("venv", "bin")} {
		path := filepath.Join(CacheDir(), dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", missing(name)
}

// node finds Node.js, and that the npm packages are there for it.
func node() (string, error) {
	if _, err := os.Stat(module("dynalite/cli.js")); err != nil {
		return "", missing("npm packages")
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", missing("node")
	}
	return path, nil
}

// missing is the one sentence for a peer that is not there.
func missing(what string) error {
	return fmt.Errorf("%s not installed: run `make setup`", what)
}

package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// spec says how a peer is started and where it answers.
type spec struct {
	variable string
	path     string // of the URL that tests are given
	ready    string // path that answers GET with any status once it is up
	program  func() (string, error)
	args     func(port int) []string
	env      func(port int) []string
}

// specs lists every peer, in the order they are started.
func specs() []spec {
	return []spec{
		{
			variable: EnvDynalite,
			program:  node,
			args: func(port int) []string {
				// The delays are dynalite's imitation of a slow CreateTable.
				return []string{module("dynalite/cli.js"), "--host", "127.0.0.1", "--port", strconv.Itoa(port),
					"--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"}
			},
		},
		{
			variable: EnvMoto,
			ready:    "/moto-api/",
			program:  func() (string, error) { return tool("moto_server") },
			args:     func(port int) []string { return []string{"-H", "127.0.0.1", "-p", strconv.Itoa(port)} },
		},
		{
			variable: EnvEverything,
			path:     "/mcp",
			ready:    "/mcp",
			program:  node,
			args: func(int) []string {
				return []string{"--import", filepath.Join(root(), "test", "peers", "loopback.mjs"),
					module("@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp"}
			},
			env: func(port int) []string { return []string{"PORT=" + strconv.Itoa(port)} },
		},
		everythingServer(EnvGoStateless, true),
		everythingServer(EnvGoStateful, false),
	}
}

// everythingServer is the Go SDK's conformance server in one of its modes.
func everythingServer(variable string, stateless bool) spec {
	return spec{
		variable: variable,
		path:     "/",
		ready:    "/",
		program:  func() (string, error) { return tool("everything-server") },
		args: func(port int) []string {
			return []string{fmt.Sprintf("-http=127.0.0.1:%d", port), fmt.Sprintf("-stateless=%t", stateless)}
		},
	}
}

// specOf finds a peer by its variable.
func specOf(variable string) (spec, error) {
	for _, s := range specs() {
		if s.variable == variable {
			return s, nil
		}
	}
	return spec{}, fmt.Errorf("there is no peer for %s", variable)
}

// fromEnv gives the shared peer of this run, or starts one that lives as long
// as this process.
func fromEnv(variable string) (string, error) {
	if url := os.Getenv(variable); url != "" {
		return url, nil
	}
	s, err := specOf(variable)
	if err != nil {
		return "", err
	}
	p, err := start(s)
	if err != nil {
		return "", err
	}
	return p.url, nil
}

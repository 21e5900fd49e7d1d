package peers

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The MCP clients that [Client] finds.
const (
	ClientInspector  = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	ClientRemote     = "mcp-remote/dist/proxy.js"
	ClientPorter     = "mcporter/dist/cli.js"
	ClientTypeScript = "@modelcontextprotocol/client/dist/index.mjs" // a module to import, no program
)

// Client is the path of an installed MCP client, and of the Node that runs it:
// most of them need a newer one than the other peers.
func Client(t testing.TB, name string) (node, script string) {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	modules := filepath.Join(CacheDir(), "clients", "node_modules")
	node, script = filepath.Join(modules, "node-linux-"+arch, "bin", "node"), filepath.Join(modules, filepath.FromSlash(name))
	for _, file := range []string{node, script} {
		if _, err := os.Stat(file); err != nil {
			t.Fatal(missing("MCP clients"))
		}
	}
	return node, script
}

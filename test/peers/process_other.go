//go:build unix && !linux

package peers

import "syscall"

// attributes puts a peer in a process group of its own. Only Linux can tie its
// life to this process's: elsewhere a killed run leaves its peers behind.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

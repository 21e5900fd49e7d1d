package peers

import "syscall"

// attributes puts a peer in a process group of its own and lets the kernel
// kill it when this process dies in whatever way.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

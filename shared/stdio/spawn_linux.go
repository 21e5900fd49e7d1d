package stdio

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a child in a process group of its own and lets the kernel
// kill it when the relay dies in whatever way.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the child's end and ends what it leaves behind in its group,
// while its number, which is the group's too, still belongs to it.
func reap(cmd *exec.Cmd, g *group) {
	for unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = cmd.Wait()
	g.gone = true
}

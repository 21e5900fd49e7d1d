package stdio

import (
	"fmt"
	"math"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a child in a process group of its own and lets the kernel
// kill it when the relay dies in whatever way.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepFiles keeps from children the open files that the relay itself was
// started with: those that it opened since are closed in children anyway.
// Kernels before 5.11 do not know how.
func keepFiles() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// Conceal keeps the relay's own environment and memory from its children: they
// run as the same user, who may otherwise read both in /proc (proc(5),
// PR_SET_DUMPABLE). Whoever runs children calls it before the first; once more
// does no harm, each time is one system call. It has no power over children
// that run as root.
//
// It holds for the whole process, and costs what it protects from: the process
// leaves no core dump, and no debugger, tracer or profiler of its own user can
// attach to it (ptrace(2)); its files in /proc belong to root. Children have
// all that as ever.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("concealing the relay from its children: %w", err)
	}
	return nil
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

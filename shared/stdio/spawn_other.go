//go:build unix && !linux

package stdio

import (
	"os/exec"
	"syscall"
)

// attributes puts a child in a process group of its own. Only Linux can tie
// its life to the relay's: elsewhere the end of its stdin has to do.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// keepFiles does nothing: what the relay opens is closed in its children, and
// what it inherited nobody can tell.
func keepFiles() {}

// Conceal does nothing: only Linux shows a process to its user in /proc.
func Conceal() error { return nil }

// reap waits for the child's end and ends what it leaves behind in its group.
// A group that is not empty keeps its number; an empty one's could be given
// away between the two, which Linux alone can rule out.
func reap(cmd *exec.Cmd, g *group) {
	_ = cmd.Wait()
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
}

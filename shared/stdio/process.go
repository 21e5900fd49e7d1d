package stdio

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"mcprelay/shared/call"
)

// input is a child's stdin.
type input interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// output is a child's stdout or stderr.
type output interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

// process is a running child: its streams and its end.
type process struct {
	pid            int
	stdin          input
	stdout, stderr output
	signal         func(syscall.Signal) // to the child's group; nothing once it has ended
	ended          chan struct{}        // closed when the child is no more
	status         string               // how it ended; once ended is closed
	dir            *folder              // its working directory, nil for none
}

// spawn starts a child in a process group and an empty folder of its own.
// Where the system does not start what looks right, another try may help.
func (p *Pool) spawn(s *Spec) (*process, *failure) {
	path, refusal := locate(s.Command)
	if refusal == nil {
		refusal = checkEnv(s.Env)
	}
	if refusal != nil {
		return nil, fail(refusal)
	}
	p.sweeping.Do(func() { p.wg.Go(p.sweep) })
	dir, err := makeFolder()
	if err != nil {
		return nil, unstarted(err)
	}
	cmd := exec.Command(path, s.Args...)
	cmd.Args[0] = s.Command
	cmd.Dir = dir.path
	cmd.Env = append([]string{}, s.Env...) // not nil, which would mean the relay's own
	cmd.SysProcAttr = attributes()
	keepFiles()
	started, err := p.launch(cmd)
	if err != nil {
		_ = dir.remove()
		return nil, unstarted(err)
	}
	started.dir = dir
	return started, nil
}

// unstarted is the failure where the system would not start a child. Its own
// texts name the relay's folders, so they stay out of the detail.
func unstarted(err error) *failure {
	return &failure{refusal: &call.Refusal{Reason: call.ProcessFailed, Detail: "the system did not start it", Err: err}, again: true}
}

// launch makes the pipes and starts cmd with them.
func (p *Pool) launch(cmd *exec.Cmd) (*process, error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:i], 0, 1)
			return nil, err
		}
		pipes[i] = [2]*os.File{r, w}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	c := &process{stdin: pipes[0][1], stdout: pipes[1][0], stderr: pipes[2][0], ended: make(chan struct{})}
	started := make(chan error)
	p.wg.Go(func() { c.own(cmd, started) })
	err := <-started
	closeAll(pipes[:1], 0)
	closeAll(pipes[1:], 1)
	if err != nil {
		closeAll(pipes[:1], 1)
		closeAll(pipes[1:], 0)
		return nil, err
	}
	return c, nil
}

// closeAll closes one end or both of some pipes.
func closeAll(pipes [][2]*os.File, ends ...int) {
	for _, pipe := range pipes {
		for _, end := range ends {
			_ = pipe[end].Close()
		}
	}
}

// group is a process group that is led by a child.
type group struct {
	mu   sync.Mutex
	pid  int
	gone bool // the leader was waited for: its number may be somebody else's
}

// signal sends s to all of the group.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		_ = syscall.Kill(-g.pid, s)
	}
}

// own starts the child and waits for its end on one locked thread: the kernel
// ends the child when the thread that forked it dies (prctl(2),
// PR_SET_PDEATHSIG), and the runtime ends threads as it likes.
func (c *process) own(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	g := &group{pid: cmd.Process.Pid}
	c.pid, c.signal = g.pid, g.signal
	started <- nil
	reap(cmd, g)
	c.status = cmd.ProcessState.String()
	close(c.ended)
}

package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	// startTimeout bounds the wait for a peer to answer; moto needs 0.5 to 2 s
	// alone on two cores, and several times that in a busy run.
	startTimeout = 60 * time.Second
	// startTries is how often a peer is started anew, since its free port may
	// have been taken by somebody else in between.
	startTries = 3
	// pollEvery is the pause between two looks at a starting peer.
	pollEvery = 20 * time.Millisecond
)

// Peer is a started program of others.
type Peer struct {
	variable string
	url      string
	cmd      *exec.Cmd
	output   *tail
	ended    chan struct{} // closed when the process is gone
}

// StartAll starts every peer for the command of a whole run. After an error
// none is left running.
func StartAll() ([]*Peer, error) {
	list := specs()
	peers, errs := make([]*Peer, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { peers[i], errs[i] = start(s) })
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		return peers, nil
	}
	for _, p := range peers {
		if p != nil {
			p.Stop()
		}
	}
	return nil, err
}

// Env is the setting that shares the peer, NAME=url.
func (p *Peer) Env() string { return p.variable + "=" + p.url }

// Stop kills the peer with its process group and waits for its end.
func (p *Peer) Stop() {
	killGroup(p.cmd.Process.Pid)
	<-p.ended
}

// start runs a peer on a free port until it answers.
func start(s spec) (*Peer, error) {
	program, err := s.program()
	if err != nil {
		return nil, err
	}
	for range startTries {
		var p *Peer
		if p, err = startOn(s, program); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("starting the peer for %s: %w", s.variable, err)
}

// startOn makes one attempt.
func startOn(s spec, program string) (*Peer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Peer{
		variable: s.variable,
		url:      fmt.Sprintf("http://127.0.0.1:%d%s", port, s.path),
		output:   &tail{},
		ended:    make(chan struct{}),
	}
	p.cmd = exec.Command(program, s.args(port)...)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
	if s.env != nil {
		p.cmd.Env = append(p.cmd.Env, s.env(port)...)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.await(fmt.Sprintf("http://127.0.0.1:%d%s", port, s.ready)); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w; it said: %s", err, p.output)
	}
	return p, nil
}

// own starts the process and waits for its end on one locked thread: the
// kernel's parent-death signal is bound to the thread that forked.
func (p *Peer) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait()
	close(p.ended)
}

// await polls until the peer answers any HTTP status, or has ended.
func (p *Peer) await(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return errors.New("it did not answer in time")
		case <-tick.C:
		}
	}
}

// answers reports whether url gives any HTTP answer.
func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}

// freePort asks the kernel for a port nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

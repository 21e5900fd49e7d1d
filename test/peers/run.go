package peers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// killAfter is how long a command may take to end after it was told to.
const killAfter = 10 * time.Second

// Run starts every peer, runs a command with their URLs in its environment, and
// ends them with it. It gives the command's exit status, 1 where a peer or the
// command could not be started. Interrupts are passed on to the command.
func Run(args []string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	started, err := StartAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	defer stop(started)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	for _, p := range started {
		cmd.Env = append(cmd.Env, p.Env())
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return status(wait(cmd.Process, ended, signals))
}

// wait passes signals on to the command until it ends, and kills one that
// does not heed them.
func wait(p *os.Process, ended <-chan error, signals <-chan os.Signal) error {
	var late <-chan time.Time
	for {
		select {
		case err := <-ended:
			return err
		case s := <-signals:
			_ = p.Signal(s)
			if late == nil {
				late = time.After(killAfter)
			}
		case <-late:
			_ = p.Kill()
		}
	}
}

// status is the exit status that the command's end stands for.
func status(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "peers:", err)
	return 1
}

func stop(started []*Peer) {
	for _, p := range started {
		p.Stop()
	}
}

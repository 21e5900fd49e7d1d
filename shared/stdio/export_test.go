package stdio

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// The names that tests need besides the exported ones.
const (
	MaxMessages  = maxMessages
	MaxNoise     = maxNoise
	MaxUnasked   = maxUnasked
	MaxShown     = maxShown
	MaxMasked    = maxMasked
	MaxBackoff   = maxBackoff
	MaxSlots     = maxSlots
	StderrWindow = stderrWindow
	StderrLines  = stderrLines
	ProbeTime    = probeTime
	DrainTime    = drainTime
	MaxPasts     = maxPasts
	MaxSwept     = maxSwept
	ForgetTime   = forgetTime
)

// Backoff is the pause after so many failures.
func Backoff(first time.Duration, failures int) time.Duration { return backoff(first, failures) }

// Slots is how many keys the pool remembers.
func (p *Pool) Slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.slots)
}

// Pasts is how many Specs the pool remembers.
func (p *Pool) Pasts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pasts)
}

// Left reports whether name is that of a child's folder.
func Left(name string) bool { return left(name) }

// ErrLong says that a line is too long.
var ErrLong = errLong

// Lines reads lines from r.
type Lines struct{ l lines }

// NewLines reads from r.
func NewLines(r io.Reader) *Lines { return &Lines{lines{source: r}} }

// Next gives the next line.
func (l *Lines) Next(limit int64) ([]byte, error) { return l.l.next(limit) }

// Rest ends the line.
func (l *Lines) Rest() (int64, error) { return l.l.skip() }

// Actor plays a child in this process: it returns its exit status.
type Actor func(stdin io.Reader, stdout, stderr io.Writer) (status string)

// NewStaged makes a pool whose children are actors, for a clock that a test
// holds. A nil actor is a start that fails.
func NewStaged(c Config, stage func(spec *Spec) Actor) *Pool {
	p := New(c)
	pid := 0
	var mu sync.Mutex
	p.run = func(s *Spec) (*process, *failure) {
		actor := stage(s)
		if actor == nil {
			return nil, unstarted(io.ErrNoProgress)
		}
		mu.Lock()
		pid++
		staged := &process{pid: pid, ended: make(chan struct{})}
		mu.Unlock()
		theirIn, ourIn := net.Pipe()
		ourOut, theirOut := net.Pipe()
		ourErr, theirErr := net.Pipe()
		staged.stdin, staged.stdout, staged.stderr = ourIn, ourOut, ourErr
		var once sync.Once
		end := func(status string) {
			once.Do(func() {
				staged.status = status
				_, _, _ = theirIn.Close(), theirOut.Close(), theirErr.Close()
				close(staged.ended)
			})
		}
		staged.signal = func(s syscall.Signal) { end("signal: " + s.String()) }
		p.wg.Go(func() { end(actor(theirIn, theirOut, theirErr)) })
		return staged, nil
	}
	return p
}

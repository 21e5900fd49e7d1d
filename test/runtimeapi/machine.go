package runtimeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// machine is one execution environment: a process and the Runtime API that it
// alone speaks to.
type machine struct {
	simulator *Simulator
	listener  net.Listener
	server    *http.Server

	mu      sync.Mutex
	process *exec.Cmd
	gone    chan struct{} // closed when the process has ended
	life    int           // counts processes
	ready   bool          // the process has asked for an invocation
	current *invocation
	timer   *time.Timer // ends the process at the invocation's deadline
}

func newMachine(s *Simulator) (*machine, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the Runtime API: %w", err)
	}
	m := &machine{simulator: s, listener: listener, gone: make(chan struct{})}
	close(m.gone)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", m.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", m.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", m.failure)
	m.server = &http.Server{Handler: mux}
	return m, nil
}

// run keeps a process alive until the simulator stops.
func (m *machine) run() {
	var served sync.WaitGroup
	served.Go(func() { _ = m.server.Serve(m.listener) })
	defer served.Wait()
	defer m.server.Close()
	for m.start() {
		_ = m.process.Wait()
		if !m.ended() {
			m.simulator.breakIt.Do(func() { close(m.simulator.broken) })
			return
		}
	}
}

// start starts a process, unless the simulator has stopped.
func (m *machine) start() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.simulator.stopped:
		return false
	default:
	}
	command := exec.Command(m.simulator.options.Bootstrap)
	command.Env = append(m.platform(), m.simulator.options.Env...)
	command.Stdout, command.Stderr = m.simulator.options.Log, m.simulator.options.Log
	if err := command.Start(); err != nil {
		fmt.Fprintln(m.simulator.options.Log, "starting the bootstrap:", err)
		m.simulator.breakIt.Do(func() { close(m.simulator.broken) })
		return false
	}
	m.process, m.gone, m.ready, m.current = command, make(chan struct{}), false, nil
	m.simulator.mu.Lock()
	m.simulator.starts++
	m.simulator.mu.Unlock()
	return true
}

// platform is what Lambda itself puts into a process's environment.
func (m *machine) platform() []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + m.listener.Addr().String(),
		"AWS_LAMBDA_FUNCTION_NAME=relay", "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "_HANDLER=bootstrap", "TZ=:UTC",
	}
}

// ended fails what the dead process was busy with. It reports whether the
// process may be replaced: one that ended by itself before it asked for an
// invocation may not.
func (m *machine) ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != nil {
		m.timer.Stop()
		m.current.fail(ErrDied)
		m.current = nil
	}
	m.life++
	close(m.gone)
	return m.ready || !m.process.ProcessState.Exited()
}

// kill ends the process; the channel is closed when it is gone.
func (m *machine) kill() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		_ = m.process.Process.Kill() // one that has ended already needs no killing
	}
	return m.gone
}

// next is the process asking for work; the invocation before it is over.
func (m *machine) next(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.ready = true
	life := m.life
	m.mu.Unlock()
	var i *invocation
	select {
	case i = <-m.simulator.queue:
	case <-r.Context().Done():
		return
	}
	if !m.take(i, life) {
		m.simulator.again(i)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Lambda-Runtime-Aws-Request-Id", i.id)
	header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(i.timeout).UnixMilli(), 10))
	header.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:relay")
	header.Set("Lambda-Runtime-Trace-Id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0")
	_, _ = w.Write(i.event)
}

// take makes an invocation the process's current one, if the process that
// asked for it still lives.
func (m *machine) take(i *invocation, life int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != life {
		return false
	}
	process := m.process.Process
	m.current = i
	m.timer = time.AfterFunc(i.timeout, func() { _ = process.Kill() })
	return true
}

// busy is the invocation of a request's path, if the process works on it.
func (m *machine) busy(w http.ResponseWriter, r *http.Request) *invocation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == nil || m.current.id != r.PathValue("id") {
		http.Error(w, `{"errorType":"InvalidRequestID"}`, http.StatusBadRequest)
		return nil
	}
	return m.current
}

// done ends i, unless its process died and the next one is at work already.
func (m *machine) done(i *invocation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == i {
		m.timer.Stop()
		m.current = nil
	}
}

// response streams the function's reply to whoever invoked it.
func (m *machine) response(w http.ResponseWriter, r *http.Request) {
	i := m.busy(w, r)
	if i == nil {
		return
	}
	stayed, err := i.receive(r)
	switch {
	case err != nil:
		i.fail(err)
	case !stayed && m.simulator.options.Sever:
		cut(w)
		return // the process sees its connection break, and ends
	case !stayed:
		_, _ = io.Copy(io.Discard, r.Body)
	}
	m.done(i)
	w.WriteHeader(http.StatusAccepted)
}

// failure takes the function's report that it has no reply.
func (m *machine) failure(w http.ResponseWriter, r *http.Request) {
	i := m.busy(w, r)
	if i == nil {
		return
	}
	report := &FunctionError{Type: "Unreadable"}
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, preludeBound)).Decode(report)
	m.done(i)
	i.fail(report)
	w.WriteHeader(http.StatusAccepted)
}

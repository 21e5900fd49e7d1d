package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// runtimeEvents is how often a fresh process is asked: cold, then warm.
const runtimeEvents = 2

// runtimeAPI is Lambda's Runtime API for one process, which is given the same
// event twice and then waits. The simulator of test/runtimeapi does much more,
// and does not say when a process asked.
type runtimeAPI struct {
	event    []byte
	listener net.Listener
	server   *http.Server
	left     chan int       // the numbers of the events that are to be given
	asked    chan time.Time // when for one that was given
	answers  chan answer
}

type answer struct {
	at   time.Time
	body []byte
	err  error
}

// exchange is when a process asked for an event and had answered it.
type exchange struct{ asked, answered time.Time }

func serveRuntime(event []byte) (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		return nil, fmt.Errorf("listening for the Runtime API: %w", err)
	}
	a := &runtimeAPI{
		event: event, listener: listener,
		left: make(chan int, runtimeEvents), asked: make(chan time.Time, runtimeEvents), answers: make(chan answer, runtimeEvents),
	}
	for n := range runtimeEvents {
		a.left <- n
	}
	const base = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"invocation/next", a.next)
	mux.HandleFunc("POST "+base+"invocation/{id}/response", a.response)
	mux.HandleFunc("POST "+base+"invocation/{id}/error", a.failure)
	mux.HandleFunc("POST "+base+"init/error", a.failure)
	a.server = &http.Server{Handler: mux}
	go func() { _ = a.server.Serve(listener) }()
	return a, nil
}

func (a *runtimeAPI) stop() { _ = a.server.Close() }

// env is what Lambda itself puts into a process's environment.
func (a *runtimeAPI) env(function string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + a.listener.Addr().String(),
		"AWS_LAMBDA_FUNCTION_NAME=" + function, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "_HANDLER=bootstrap", "TZ=:UTC",
	}
}

func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	select {
	case n := <-a.left:
		a.asked <- at
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Lambda-Runtime-Aws-Request-Id", "event-"+strconv.Itoa(n))
		header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(at.Add(startTime).UnixMilli(), 10))
		header.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:bench")
		_, _ = w.Write(a.event)
	case <-r.Context().Done():
	}
}

func (a *runtimeAPI) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	a.answer(w, answer{time.Now(), body, err})
}

func (a *runtimeAPI) failure(w http.ResponseWriter, r *http.Request) {
	report, err := io.ReadAll(r.Body)
	a.answer(w, answer{err: errors.Join(fmt.Errorf("it reported an error instead of an answer: %s", report), err)})
}

// answer keeps what came, unless nobody asked for so much.
func (a *runtimeAPI) answer(w http.ResponseWriter, got answer) {
	select {
	case a.answers <- got:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// exchange waits for the next answer of the process, which must hold all wants.
func (a *runtimeAPI) exchange(ended <-chan struct{}, wants []string) (e exchange, err error) {
	var got answer
	select {
	case got = <-a.answers:
	case <-ended:
		return e, errors.New("the process ended, or was ended, before it answered")
	}
	if got.err != nil {
		return e, got.err
	}
	for _, want := range wants {
		if !bytes.Contains(got.body, []byte(want)) {
			return e, fmt.Errorf("the answer lacks %q: %q", want, got.body)
		}
	}
	select {
	case e.asked = <-a.asked:
		e.answered = got.at
		return e, nil
	default:
		return e, errors.New("it answered what it had not asked for")
	}
}

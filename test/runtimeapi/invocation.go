package runtimeapi

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// The prelude of a streamed reply: JSON, then eight NUL bytes, then the body
// (integration with response transfer mode STREAM).
const (
	preludeType  = "application/vnd.awslambda.http-integration-response"
	preludeBound = 1 << 20 // bytes
	trailerType  = "Lambda-Runtime-Function-Error-Type"
	trailerBody  = "Lambda-Runtime-Function-Error-Body"
)

// invocation is one event on its way through one process.
type invocation struct {
	id      string
	event   []byte
	timeout time.Duration

	once  sync.Once
	begun chan struct{} // closed when reply or err is set
	reply *Reply
	err   error

	reader *io.PipeReader // the reply's body
	body   *io.PipeWriter
}

func newInvocation(event []byte, timeout time.Duration) *invocation {
	i := &invocation{id: rand.Text(), event: event, timeout: timeout, begun: make(chan struct{})}
	i.reader, i.body = io.Pipe()
	return i
}

// fail ends the invocation: with no reply, or with one that is cut short.
func (i *invocation) fail(err error) {
	i.once.Do(func() { i.err = err; close(i.begun) })
	_ = i.body.CloseWithError(err)
}

// receive reads what the function posts as its response: the prelude of a
// streamed one, then the body as it comes, then the trailers that may say it
// failed. It reports whether the reader of the reply stayed to the end. A
// function that answers with plain JSON has no prelude.
func (i *invocation) receive(r *http.Request) (bool, error) {
	body := bufio.NewReader(r.Body)
	reply := &Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": r.Header["Content-Type"]}}
	if r.Header.Get("Content-Type") == preludeType {
		var err error
		if reply, err = readPrelude(body); err != nil {
			return true, err
		}
	}
	reply.Body = i.reader
	i.once.Do(func() { i.reply = reply; close(i.begun) })
	if _, err := body.WriteTo(i.body); err != nil {
		gone := errors.Is(err, io.ErrClosedPipe)
		if !gone {
			err = ErrDied
		}
		_ = i.body.CloseWithError(err)
		return !gone, nil
	}
	if r.Trailer.Get(trailerType) != "" {
		_ = i.body.CloseWithError(fmt.Errorf("%w: %w", ErrAborted, trailerError(r.Trailer)))
		return true, nil
	}
	return true, i.body.Close()
}

func trailerError(trailer http.Header) error {
	report := &FunctionError{Type: trailer.Get(trailerType)}
	if text, err := base64.StdEncoding.DecodeString(trailer.Get(trailerBody)); err == nil {
		_ = json.Unmarshal(text, report)
	}
	return report
}

// readPrelude reads up to and including the eight NUL bytes.
func readPrelude(r *bufio.Reader) (*Reply, error) {
	var text []byte
	for !bytes.HasSuffix(text, make([]byte, 8)) {
		c, err := r.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("the response ends inside its prelude %q: %w", text, err)
		}
		if text = append(text, c); len(text) > preludeBound {
			return nil, errors.New("the prelude is over its bound")
		}
	}
	var head struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
		Cookies           []string            `json:"cookies"`
	}
	if err := json.Unmarshal(text[:len(text)-8], &head); err != nil || head.StatusCode == 0 {
		return nil, fmt.Errorf("the prelude %q has no status: %w", text, err)
	}
	header := http.Header{}
	for name, value := range head.Headers {
		header.Set(name, value)
	}
	for name, values := range head.MultiValueHeaders {
		header[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range head.Cookies {
		header.Add("Set-Cookie", cookie)
	}
	return &Reply{Status: head.StatusCode, Header: header}, nil
}

package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
)

// maxFetchHead bounds the head of a reply, in bytes, as for upstreams.
const maxFetchHead = 64 << 10

var (
	errFetchSize   = errors.New("the reply is larger than its bound")
	errFetchStatus = errors.New("the reply is not a plain 200")
)

// fetch reads what is at a URL, at most limit bytes, through the guard: public
// addresses only, TLS, no redirect, no second try. It is given to whoever needs
// a document of a place that the registration names.
func fetch(guard *egress.Guard, limit int64) func(context.Context, endpoint.URL) ([]byte, error) {
	return func(ctx context.Context, from endpoint.URL) ([]byte, error) {
		route, err := guard.Resolve(ctx, from, egress.Rules{})
		if err != nil {
			return nil, err
		}
		conn, err := guard.Fresh(ctx, route)
		if err != nil {
			return nil, err
		}
		defer conn.Close() // never kept: an issuer is asked once in minutes
		conn.Bind(ctx)
		body, err := get(conn, from, limit)
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", from.Redacted(), err)
		}
		return body, nil
	}
}

// get is one HTTP/1.1 exchange. Nothing of a reply is in its error: it may
// quote what the other side sent.
func get(conn *egress.Conn, from endpoint.URL, limit int64) ([]byte, error) {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s/%s\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n",
		from.RequestURI(), from.Authority(), Name, Version); err != nil {
		return nil, errors.New("the request could not be written")
	}
	// Chunks take more than their bytes; a body that is over its bound is found
	// before that.
	reader := bufio.NewReader(io.LimitReader(conn.Reader, maxFetchHead+2*limit))
	reply, err := http.ReadResponse(reader, nil)
	if err != nil {
		return nil, errors.New("the reply is no HTTP")
	}
	defer reply.Body.Close() // the connection ends with it
	if reply.StatusCode != http.StatusOK || !identity(reply.Header["Content-Encoding"]) {
		return nil, errFetchStatus
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, limit+1))
	if err != nil {
		return nil, errors.New("the reply ends early")
	}
	if int64(len(body)) > limit {
		return nil, errFetchSize
	}
	return body, nil
}

// identity reports whether a body is as it is: nothing else was asked for.
func identity(encodings []string) bool {
	return len(encodings) == 0 || len(encodings) == 1 && (encodings[0] == "" || encodings[0] == "identity")
}

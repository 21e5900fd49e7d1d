package runtimeapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// eventBound is Lambda's quota of a synchronous invocation's payload, in bytes.
const eventBound = 6 << 20

// ServeHTTP is the gateway in front of the function: it makes a REST proxy
// event of the request and passes the reply on, chunk by chunk. A reply that
// fails before its head is 502, one that fails later cuts the connection.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, err := newEvent(r)
	if err != nil {
		http.Error(w, `{"message":"Request Too Long"}`, http.StatusRequestEntityTooLarge)
		return
	}
	reply, err := s.InvokeEvent(r.Context(), e)
	if err != nil {
		http.Error(w, `{"message":"Internal server error"}`, http.StatusBadGateway)
		return
	}
	defer reply.Body.Close()
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(reply.Status)
	if !pass(w, reply.Body) {
		cut(w)
	}
}

// cut closes the connection of a request without a proper end.
func cut(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// pass copies and flushes every chunk; it reports whether the end was a clean one.
func pass(w http.ResponseWriter, body io.Reader) bool {
	flush, chunk := http.NewResponseController(w), make([]byte, 32<<10)
	_ = flush.Flush()
	for {
		n, err := body.Read(chunk)
		if _, failed := w.Write(chunk[:n]); failed != nil {
			return false
		}
		_ = flush.Flush()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// newEvent is the event that API Gateway makes of a request.
func newEvent(r *http.Request) (events.APIGatewayProxyRequest, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, eventBound+1))
	if err == nil && len(body) > eventBound {
		err = errors.New("the body is over the quota of an event")
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	e := events.APIGatewayProxyRequest{
		Resource: "/{proxy+}", Path: r.URL.EscapedPath(), HTTPMethod: r.Method,
		Headers: map[string]string{"Host": r.Host}, MultiValueHeaders: map[string][]string{"Host": {r.Host}},
		Body: strings.ToValidUTF8(string(body), "\ufffd"),
	}
	for name, values := range r.Header {
		e.Headers[name], e.MultiValueHeaders[name] = values[len(values)-1], values
	}
	for name, values := range r.URL.Query() {
		if e.QueryStringParameters == nil {
			e.QueryStringParameters, e.MultiValueQueryStringParameters = map[string]string{}, map[string][]string{}
		}
		e.QueryStringParameters[name], e.MultiValueQueryStringParameters[name] = values[len(values)-1], values
	}
	e.RequestContext.Identity.SourceIP = ip
	e.RequestContext.Stage, e.RequestContext.HTTPMethod, e.RequestContext.Path = "live", r.Method, "/live"+r.URL.EscapedPath()
	e.RequestContext.RequestTimeEpoch = time.Now().UnixMilli()
	return e, err
}

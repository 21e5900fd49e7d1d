package event

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
)

// request builds the server's view of an event. A refused event still gives a
// request, with the method and the path as far as they could be read.
func request(e events.APIGatewayProxyRequest) (*http.Request, *call.Refusal) {
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/"}, RequestURI: "/",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody,
	}
	if !token(e.HTTPMethod) {
		return r, call.Refuse(call.BadRequest, "the event's method is not a token")
	}
	r.Method = e.HTTPMethod
	target, refusal := requestURL(e)
	if refusal != nil {
		return r, refusal
	}
	r.URL, r.RequestURI = target, target.RequestURI()
	header, refusal := requestHeader(e)
	if refusal != nil {
		return r, refusal
	}
	r.Header, r.Host = header, header.Get("Host")
	header.Del("Host")
	if ip := e.RequestContext.Identity.SourceIP; ip != "" {
		r.RemoteAddr = net.JoinHostPort(ip, "0")
	}
	return r, setBody(r, e)
}

// requestURL joins path and query. Whether API Gateway decodes the path has
// changed over time, so a path that is a valid encoding is read as one and any
// other is taken literally.
func requestURL(e events.APIGatewayProxyRequest) (*url.URL, *call.Refusal) {
	if len(e.Path) > MaxPath {
		return nil, call.Refuse(call.TooLarge, "the event's path has %d bytes", len(e.Path))
	}
	if !strings.HasPrefix(e.Path, "/") || !printable(e.Path) {
		return nil, call.Refuse(call.BadRequest, "the event's path is not an absolute path")
	}
	target := &url.URL{Path: e.Path}
	if decoded, err := url.PathUnescape(e.Path); err == nil {
		if !printable(decoded) {
			return nil, call.Refuse(call.BadRequest, "the event's path holds a control character")
		}
		target.Path, target.RawPath = decoded, e.Path
	}
	target.RawQuery = query(e).Encode()
	if len(target.RawQuery) > MaxPath {
		return nil, call.Refuse(call.TooLarge, "the event's query has %d bytes", len(target.RawQuery))
	}
	return target, nil
}

// query reads the query parameters, which API Gateway has decoded; those with
// every value come first, as for headers.
func query(e events.APIGatewayProxyRequest) url.Values {
	values := url.Values{}
	for name, all := range e.MultiValueQueryStringParameters {
		values[name] = all
	}
	for name, last := range e.QueryStringParameters {
		if _, have := values[name]; !have {
			values.Set(name, last)
		}
	}
	return values
}

// setBody gives r the exact bytes that the client sent.
func setBody(r *http.Request, e events.APIGatewayProxyRequest) *call.Refusal {
	body := e.Body
	if e.IsBase64Encoded {
		// Checked before decoding, so that the bound is one of memory as well.
		if base64.StdEncoding.DecodedLen(len(body)) > MaxBody+2 {
			return call.Refuse(call.TooLarge, "the event's body has %d bytes in base64", len(body))
		}
		decoded, err := base64.StdEncoding.Strict().DecodeString(body)
		// The decoder skips line breaks, which API Gateway never sends.
		if err != nil || strings.ContainsAny(body, "\r\n") {
			return call.Refuse(call.BadRequest, "the event's body is not base64 although it says so")
		}
		body = string(decoded)
	}
	if len(body) > MaxBody {
		return call.Refuse(call.TooLarge, "the event's body has %d bytes", len(body))
	}
	if body == "" {
		return nil
	}
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(strings.NewReader(body))
	return nil
}

// printable reports whether s is valid UTF-8 without control characters.
func printable(s string) bool {
	control := strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
	return utf8.ValidString(s) && !control
}

package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Mode is one way of answering a call badly, or oddly.
type Mode struct {
	Name   string
	Script Script
}

// dripPause is how long a slow server waits between two bytes. What is slow is
// a question of the budget that the test gives.
const dripPause = 5 * time.Millisecond

// many is how often something small is said at once.
const many = 100

// mebibyte is the default bound of a reply.
const mebibyte = 1 << 20

const (
	okHead     = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	done       = `{"resultType":"complete","content":[]}`
	doneText   = `{"jsonrpc":"2.0","id":$ID,"result":` + done + `}`
	progress   = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	keepAlive  = ": keepalive\n\n"
	halfAnswer = `event: message` + "\n" + `data: {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"te`
)

// Modes lists ways to answer a tools/call that no honest server uses, by the
// kinds of the fault matrix. Those that never end stop when the relay leaves.
func Modes() []Mode {
	return append(append(append(ends(), endless()...), odd()...), redirects()...)
}

// ends are the ways to stop too early.
func ends() []Mode {
	return []Mode{
		{"reset before the head", Reset},
		{"close before the head", Close},
		{"stall before the head", Stall},
		{"stall in the head", Pieces("HTTP/1.1 200 OK\r\nContent-Ty")},
		{"close in the head", Bytes("HTTP/1.1 200 OK\r\nContent-Ty")},
		{"stall after the head", StreamOpen()},
		{"stall in a JSON body", Pieces(okHead + "Content-Length: 100\r\n\r\n{\"jsonrpc\"")},
		{"close in a JSON body", Bytes(okHead + "Content-Length: 100\r\n\r\n{\"jsonrpc\"")},
		{"reset in an event", StreamReset(halfAnswer)},
		{"close in an event", StreamFIN(halfAnswer)},
		{"end in an event", Stream(halfAnswer)},
		{"end between events", Stream(Event(progress))},
		{"reset between events", StreamReset(Event(progress))},
		{"close between events", StreamFIN(Event(progress))},
		{"end without an event", Stream()},
		{"drip the head", func(c *Conn, _ Request) { c.Drip(okHead+"X-Long: "+strings.Repeat("x", mebibyte), dripPause, false) }},
		{"drip the body", func(c *Conn, _ Request) {
			c.Send(head(http.StatusOK, mediaStream, "Connection: close"))
			c.Drip(keepAlive, dripPause, true)
		}},
	}
}

// endless are the ways never to stop.
func endless() []Mode {
	forever := func(begin, again string) Script {
		return func(c *Conn, r Request) {
			c.Send(begin)
			c.Repeat(r.Fill(again))
		}
	}
	bomb := Gzip(strings.Repeat("\x00", 2*mebibyte))
	return []Mode{
		{"endless notifications", StreamEndless(strings.Repeat(Event(progress), many))},
		{"endless comments", StreamEndless(strings.Repeat(keepAlive, many))},
		{"endless pings", StreamEndless(strings.Repeat("event: ping\ndata: now\n\n", many))},
		{"endless requests", StreamEndless(Event(`{"jsonrpc":"2.0","id":"s","method":"ping"}`))},
		{"endless foreign responses", StreamEndless(Event(`{"jsonrpc":"2.0","id":"foreign","result":{}}`))},
		{"endless tiny events", StreamEndless(strings.Repeat("data\n\n", many))},
		{"endless line", StreamEndless("data: ", strings.Repeat("x", 4096))},
		{"endless JSON string", forever(okHead+"Connection: close\r\n\r\n"+`{"jsonrpc":"2.0","x":"`, strings.Repeat("x", 4096))},
		{"endless white space", forever(okHead+"Connection: close\r\n\r\n", strings.Repeat(" ", 4096))},
		{"endless head", forever("HTTP/1.1 200 OK\r\nX-Long: ", strings.Repeat("x", 4096))},
		{"endless headers", forever("HTTP/1.1 200 OK\r\n", strings.Repeat("X-Some: x\r\n", many))},
		{"endless informational replies", forever("", "HTTP/1.1 100 Continue\r\n\r\n")},
		{"endless gzip", forever(okHead+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", bomb)},
		{"gzip bomb", func(c *Conn, _ Request) {
			c.Reply(http.StatusOK, mediaJSON, bomb, "Content-Encoding: gzip")
		}},
		{"a length beyond the bound", Pieces(okHead + fmt.Sprintf("Content-Length: %d\r\n\r\n{", 1<<40))},
	}
}

// odd are replies that are no answer.
func odd() []Mode {
	raw := func(name, text string) Mode { return Mode{name, Bytes(text)} }
	modes := []Mode{
		raw("an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		raw("an SSH banner", "SSH-2.0-OpenSSH_9.6\r\n"),
		raw("another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
		raw("two lengths", okHead+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}"),
		raw("a length and a coding", okHead+"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		raw("a folded header", okHead+"X-Fold: a\r\n b\r\nContent-Length: 2\r\n\r\n{}"),
		raw("a bare line feed", "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}"),
		raw("NUL in a header", okHead+"X-Odd: a\x00b\r\nContent-Length: 2\r\n\r\n{}"),
		raw("two session ids", okHead+"Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nContent-Length: 2\r\n\r\n{}"),
		raw("a head of 64 KiB", okHead+"X-Long: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"),
		raw("1000 headers", "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Some: x\r\n", 1000)+"\r\n"),
		{"a web page", Status(http.StatusOK, "text/html", "<html><script>alert(1)</script></html>")},
		{"no type", Status(http.StatusOK, "", doneText)},
		{"an array", JSON("[" + doneText + "]")},
		{"a foreign id", JSON(`{"jsonrpc":"2.0","id":"foreign","result":{}}`)},
		{"no id", JSON(`{"jsonrpc":"2.0","result":{}}`)},
		{"a result and an error", JSON(`{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"m"}}`)},
		{"an unknown result type", Result(`{"resultType":"surprise"}`)},
		{"a request instead of an answer", JSON(`{"jsonrpc":"2.0","id":$ID,"method":"sampling/createMessage","params":{}}`)},
		{"bad JSON", JSON(`{"jsonrpc":"2.0","id":$ID,"result":{`)},
		{"nothing at all", Status(http.StatusAccepted, "", "")},
	}
	for _, encoding := range []string{"br", "zstd", "deflate", "compress", "gzip, gzip"} {
		modes = append(modes, Mode{encoding, Zipped(encoding, doneText)})
	}
	return modes
}

// redirects are the statuses that lead elsewhere.
func redirects() []Mode {
	var modes []Mode
	for status := http.StatusMultipleChoices; status <= http.StatusPermanentRedirect; status++ {
		modes = append(modes, Mode{fmt.Sprintf("status %d", status), Status(status, "", "", "Location: http://169.254.169.254/latest/meta-data/")})
	}
	return modes
}

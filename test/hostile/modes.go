package hostile

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"sync"
)

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// Status answers with a status, a type and a body.
func Status(status int, kind, body string, headers ...string) Script {
	return func(c *Conn, r Request) { c.Reply(status, kind, r.Fill(body), headers...) }
}

// JSON answers 200 with a body that is a JSON-RPC message, or should be.
func JSON(body string, headers ...string) Script {
	return Status(http.StatusOK, mediaJSON, body, headers...)
}

// Result answers with a result.
func Result(result string) Script { return JSON(`{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`) }

// Bytes writes texts as they are, each by itself, and ends the connection in
// an orderly way.
func Bytes(texts ...string) Script {
	return func(c *Conn, r Request) {
		Pieces(texts...)(c, r)
		c.Close()
	}
}

// Pieces writes texts as they are, each by itself, and keeps the connection.
func Pieces(texts ...string) Script {
	return func(c *Conn, r Request) {
		for _, text := range texts {
			c.Send(r.Fill(text))
		}
	}
}

// Event is one event of the default type; its data is one line.
func Event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// Answer is the event that answers the request with a result.
func Answer(result string) string { return Event(`{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`) }

// Stream answers with an event stream, each text a chunk, and ends it.
func Stream(texts ...string) Script { return streaming(texts, func(c *Conn) { c.LastChunk() }) }

// StreamOpen is Stream, but the stream is kept open until the relay leaves.
func StreamOpen(texts ...string) Script {
	return streaming(texts, func(c *Conn) { c.AwaitGone(); c.FIN() })
}

// StreamReset is Stream, but ends with a reset.
func StreamReset(texts ...string) Script { return streaming(texts, (*Conn).Reset) }

// StreamFIN is Stream, but ends with the connection, its last chunk missing.
func StreamFIN(texts ...string) Script { return streaming(texts, (*Conn).FIN) }

// StreamEndless is Stream, but its last text is written for ever.
func StreamEndless(texts ...string) Script {
	last := len(texts) - 1
	return func(c *Conn, r Request) {
		streaming(texts[:last], func(*Conn) {})(c, r)
		c.Repeat(chunk(r.Fill(texts[last])))
	}
}

func streaming(texts []string, end func(*Conn)) Script {
	return func(c *Conn, r Request) {
		c.Send(head(http.StatusOK, mediaStream, "Cache-Control: no-cache", "Transfer-Encoding: chunked"))
		for _, text := range texts {
			c.Chunk(r.Fill(text))
		}
		end(c)
	}
}

// StreamClosed answers with a stream that has no transfer coding: its end is
// the orderly end of the connection.
func StreamClosed(texts ...string) Script {
	return Bytes(append([]string{head(http.StatusOK, mediaStream, "Connection: close")}, texts...)...)
}

// Sequence gives the first request to the first script, the second to the
// second, and what comes after the last to the last.
func Sequence(scripts ...Script) Script {
	var mu sync.Mutex
	n := 0
	return func(c *Conn, r Request) {
		mu.Lock()
		script := scripts[min(n, len(scripts)-1)]
		n++
		mu.Unlock()
		script(c, r)
	}
}

// Gate holds every request until the gate is opened, then gives it to script.
func Gate(open <-chan struct{}, script Script) Script {
	return func(c *Conn, r Request) {
		<-open
		script(c, r)
	}
}

// Reset closes the connection with a reset before a byte is written.
func Reset(c *Conn, _ Request) { c.Reset() }

// Close closes the connection in an orderly way before a byte is written.
func Close(c *Conn, _ Request) { c.Close() }

// Stall writes nothing until the relay leaves.
func Stall(c *Conn, _ Request) {
	c.AwaitGone()
	c.FIN()
}

// Gzip is a text compressed.
func Gzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	// Writing to memory cannot fail.
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// Zipped answers with a JSON body of a content encoding, which it is gzip of
// whatever the name.
func Zipped(encoding, body string) Script {
	return func(c *Conn, r Request) {
		c.Reply(http.StatusOK, mediaJSON, Gzip(r.Fill(body)), "Content-Encoding: "+encoding)
	}
}

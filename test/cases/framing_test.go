package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/test/hostile"
)

// Section B, first part: how the bytes of an event stream are cut.
func framing() []row {
	return []row{
		{"B7", "lines may end with CRLF", answeredBy([]variant{
			{"one event", hostile.Stream("event: message\r\ndata: " + response + "\r\n\r\n")},
			{"with every field", hostile.Stream("id: 1\r\nretry: 10\r\nevent: message\r\ndata: " + response + "\r\n\r\n")},
			{"after a comment", hostile.Stream(": hello\r\n\r\n", "data: "+response+"\r\n\r\n")},
			{"data of several lines", hostile.Stream(lines(response, "\r\n"))},
			{"until the end of the connection", hostile.StreamClosed("data: " + response + "\r\n\r\n")},
		})},
		{"B8", "lines may end with CR, and a CRLF may be cut", everyCut},
		{"B9", "events without data are skipped", answeredBy([]variant{
			{"a priming event", hostile.Stream("id: 0\nretry: 3000\ndata:\n\n", hostile.Answer(hello))},
			{"data and a blank", hostile.Stream("id: 0\ndata: \n\n", hostile.Answer(hello))},
			{"data without a colon", hostile.Stream("id: 0\ndata\n\n", hostile.Answer(hello))},
			{"no data at all", hostile.Stream("id: 0\nretry: 3000\n\n", hostile.Answer(hello))},
			{"in the same chunk", hostile.Stream("id: 0\ndata:\n\n" + hostile.Answer(hello))},
			{"a hundred of them", hostile.Stream(strings.Repeat("id: 0\ndata:\n\n", 100), hostile.Answer(hello))},
			{"of the type message", hostile.Stream("event: message\ndata:\n\n", hostile.Answer(hello))},
		})},
		{"B10", "an event without a type is a message", answeredBy([]variant{
			{"no type", hostile.Stream("data: " + response + "\n\n")},
			{"an empty type", hostile.Stream("event:\ndata: " + response + "\n\n")},
			{"an empty type and a blank", hostile.Stream("event: \ndata: " + response + "\n\n")},
			{"the type before holds no longer", hostile.Stream("event: ping\ndata: x\n\n", "data: "+response+"\n\n")},
			{"no blank after the colon", hostile.Stream("data:" + response + "\n\n")},
			{"the type after the data", hostile.Stream("data: " + response + "\nevent: message\n\n")},
			{"several lines", hostile.Stream(lines(response, "\n"))},
		})},
		{"B11", "events of other types and comments are nothing", answeredBy([]variant{
			{"a ping", hostile.Stream("event: ping\ndata: 2026-11-30 12:00:00\n\n", hostile.Answer(hello))},
			{"an endpoint", hostile.Stream("event: endpoint\ndata: /messages?id=1\n\n", hostile.Answer(hello))},
			{"a type in capitals", hostile.Stream("event: Message\ndata: {\n\n", hostile.Answer(hello))},
			{"a comment", hostile.Stream(": keepalive\n\n", hostile.Answer(hello))},
			{"an empty comment", hostile.Stream(":\n\n:\n\n", hostile.Answer(hello))},
			{"a comment in the event", hostile.Stream("event: message\n: data: {}\ndata: " + response + "\n: end\n\n")},
			{"our id under another type", hostile.Stream("event: ping\ndata: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"wrong\":true}}\n\n", hostile.Answer(hello))},
		})},
		{"B19", "a byte order mark may come first", answeredBy([]variant{
			{"before data", hostile.Stream("\ufeffdata: " + response + "\n\n")},
			{"before event", hostile.Stream("\ufeff" + hostile.Answer(hello))},
			{"before a comment", hostile.Stream("\ufeff: hello\n\n", hostile.Answer(hello))},
			{"alone", hostile.Stream("\ufeff", hostile.Answer(hello))},
			{"cut after its first byte", hostile.Stream("\xef", "\xbb\xbf"+hostile.Answer(hello))},
			{"cut after its second byte", hostile.Stream("\xef\xbb", "\xbf"+hostile.Answer(hello))},
			{"in a JSON body", hostile.JSON("\ufeff" + response)},
		})},
		{"B22", "fields that mean nothing are ignored, and events are counted", oddFields},
	}
}

// answeredBy wants hello of every variant, in every era.
func answeredBy(variants []variant) func(*testing.T, *stage) {
	return func(t *testing.T, k *stage) {
		k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
			s.each(variants, want{result: hello, session: hostile.Held(s.up.Era()), status: 200})
		})
	}
}

// lines spreads a message over three data lines: the line ends between them
// are white space of the JSON.
func lines(message, end string) string {
	return "data: " + strings.Replace(message, ",", ","+end+"data: ", 2) + end + end
}

// cut writes a stream in two pieces.
func cut(stream string, at int) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		whole := r.Fill(stream)
		hostile.Stream(whole[:at], whole[at:])(c, r)
	}
}

// everyCut cuts streams with each kind of line end at every byte.
func everyCut(t *testing.T, k *stage) {
	s := k.warm(t, hostile.Modern, hostile.Setup{})
	for name, end := range map[string]string{"CR": "\r", "CRLF": "\r\n"} {
		stream := "id: 0" + end + "data:" + end + end + "event: message" + end + "data: " + response + end + end
		s.under(name, func(s *scene) {
			// The id takes the place of $ID, so the last bytes are cut as well.
			for at := range len(stream) - len("$ID") {
				s.up.On("tools/call", cut(stream, at))
				s.ask(hostile.Ask{Tool: "look"}, want{result: hello})
			}
		})
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{
			{"CR alone", hostile.Stream("event: message\rdata: " + response + "\r\r")},
			{"CR, several events", hostile.Stream("data:\r\rdata: " + response + "\r\r")},
			{"CR, data of several lines", hostile.Stream(lines(response, "\r"))},
			{"CR and LF in two chunks", hostile.Stream("event: message\r", "\ndata: "+response+"\r", "\n\r", "\n")},
			{"byte by byte", byByte("event: message\r\ndata: " + response + "\r\n\r\n")},
			{"ends mixed", hostile.Stream("id: 1\revent: message\ndata: " + response + "\r\n\n")},
		}, want{result: hello, session: hostile.Held(s.up.Era())})
	})
}

// byByte writes a stream one byte a chunk.
func byByte(stream string) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		hostile.Stream(strings.Split(r.Fill(stream), "")...)(c, r)
	}
}

func oddFields(t *testing.T, k *stage) {
	answeredBy([]variant{
		{"NUL in the id", hostile.Stream("id: a\x00b\ndata: " + response + "\n\n")},
		{"retry is no number", hostile.Stream("retry: abc\ndata: " + response + "\n\n")},
		{"retry is too large", hostile.Stream("retry: 99999999999999999999\ndata: " + response + "\n\n")},
		{"a field without a colon", hostile.Stream("nonsense\ndata: " + response + "\n\n")},
		{"an unknown field", hostile.Stream("color: blue\ndata: " + response + "\n\n")},
		{"a field in capitals", hostile.Stream("DATA: {}\nData: {}\ndata: " + response + "\n\n")},
		{"a blank before the field", hostile.Stream(" data: {}\ndata: " + response + "\n\n")},
		{"bytes that are no text", hostile.Stream(": \xff\xfe\nx\x00: \xff\ndata: " + response + "\n\n")},
		{"9999 tiny events", hostile.Stream(strings.Repeat("id\n\n", 9_999), hostile.Answer(hello))},
		{"the last of 10000", hostile.Stream(strings.Repeat("data: \n\n", 9_999) + hostile.Answer(hello))},
	})(t, k)
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, tiny := range []string{"id\n\n", "data:\n\n", "event: ping\ndata: x\n\n", hostile.Event(`{"jsonrpc":"2.0","method":"x"}`)} {
			for name, script := range map[string]hostile.Script{
				"and the answer": hostile.Stream(strings.Repeat(tiny, 10_000), hostile.Answer(hello)),
				"for ever":       hostile.StreamEndless(strings.Repeat(tiny, 500)),
			} {
				s.under(fmt.Sprintf("10000 of %.12q %s", tiny, name), func(s *scene) {
					s.up.On("tools/call", script)
					s.ask(hostile.Ask{}, tooMany)
				})
			}
		}
	})
}

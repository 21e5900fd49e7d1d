package wire_test

import (
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

// typical is a tools/call of the stateless era, about 300 bytes.
const typical = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_sql",` +
	`"arguments":{"region":"us-west1","query":"SELECT 1"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

func BenchmarkReadRequest(b *testing.B) {
	body := []byte(typical)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := wire.ReadRequest(body); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

func BenchmarkReadRequestOf256KiB(b *testing.B) {
	for name, filler := range map[string]string{
		"text": `"` + strings.Repeat("some text ", 26_000) + `"`,
		"rows": `[` + strings.Repeat(`{"a":1,"b":"some text","c":[1,2,3]},`, 7_000) + `1]`,
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(strings.Replace(typical, `"SELECT 1"`, filler, 1))
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, refusal := wire.ReadRequest(body); refusal != nil {
					b.Fatal(refusal)
				}
			}
		})
	}
}

func BenchmarkReadReply(b *testing.B) {
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("row ", 50) + `"}],"isError":false,"resultType":"complete"}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ReadReply(data); err != nil {
			b.Fatal(err)
		}
	}
}

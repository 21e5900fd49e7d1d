package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

// typical is a tools/call of the stateless era, about 300 bytes.
const typical = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_sql",` +
	`"arguments":{"region":"us-west1","query":"SELECT 1"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// fillings are JSON values of about n bytes each.
func fillings(n int) map[string]string {
	fill := func(text string) string { return strings.Repeat(text, n/len(text)+1) }
	return map[string]string{
		"text":    `"` + fill("some text ") + `"`,
		"lines":   `"` + fill(`a line of text that is as long as most\n`) + `"`,
		"json":    `"` + fill(`{\"id\":\"5f2b\",\"path\":\"C:\\\\docs\"},`) + `"`,
		"latin":   `"` + fill("déjà vu à l'été, où ça ? ") + `"`,
		"chinese": `"` + fill("一段不短的文字，") + `"`,
		"rows":    `[` + fill(`{"a":1,"b":"some text","c":[1,2,3]},`) + `1]`,
		"members": `[` + fill(`{"identifier":5,"title":"x","description":"y","score":1.5,"tags":[],"url":null},`) + `1]`,
	}
}

var sizes = []int{64, 4 << 10, 256 << 10}

// each runs a benchmark for every filling and size, with the package's reader
// and, to compare with, the oracle.
func each(b *testing.B, around func(filling string) string, read, oracle func([]byte) error) {
	for _, size := range sizes {
		for name, filling := range fillings(size) {
			text := []byte(around(filling))
			for who, read := range map[string]func([]byte) error{"scanner": read, "oracle": oracle} {
				b.Run(fmt.Sprintf("%d/%s/%s", size, name, who), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						if err := read(text); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkReadRequest(b *testing.B) {
	each(b, func(filling string) string { return strings.Replace(typical, `"SELECT 1"`, filling, 1) }, func(text []byte) error {
		if _, refusal := wire.ReadRequest(text); refusal != nil {
			return refusal
		}
		return nil
	}, func(text []byte) error {
		if _, refusal := oracleReadRequest(text); refusal != nil {
			return refusal
		}
		return nil
	})
}

func BenchmarkReadReply(b *testing.B) {
	each(b, func(filling string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + filling + `}],"isError":false,"resultType":"complete"}}`
	}, func(text []byte) error {
		_, err := wire.ReadReply(text)
		return err
	}, func(text []byte) error {
		_, err := oracleReadReply(text)
		return err
	})
}

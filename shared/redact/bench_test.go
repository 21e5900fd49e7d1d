package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/redact"
)

// reply is the text of a tool's result, about n bytes long.
func reply(n int) []byte {
	const row = `{"id":"5f2b","title":"Quarterly report","path":"\/docs\/2026\/q2.md","score":0.82,"note":"Lorem ipsum dolor sit amet, consectetur adipiscing elit"},`
	return []byte(strings.Repeat(row, n/len(row)+1)[:n])
}

func BenchmarkNothingToMask(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		for _, secrets := range [][]string{{"sk-Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu"}, {token, awkward, "another-secret-value", "and-one-more-of-them"}} {
			b.Run(fmt.Sprintf("%d bytes, %d secrets", size, len(secrets)), func(b *testing.B) {
				m := redact.New(values(secrets...)...)
				text := reply(size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, n := m.Bytes(text); n != 0 {
						b.Fatal("found something")
					}
				}
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	v := values("sk-Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu")
	b.ReportAllocs()
	for b.Loop() {
		redact.New(v...)
	}
}

func TestLookingForSecretsAllocatesNothing(t *testing.T) {
	m := redact.New(values(token, "plain-enough")...)
	text := reply(4 << 10)
	if n := testing.AllocsPerRun(100, func() { m.JSON(text) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// Texts with escapes cost little more, whatever the escapes are.
func BenchmarkJSON(b *testing.B) {
	m := redact.New(values("sk-Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu")...)
	for _, size := range []int{64, 4 << 10, 256 << 10} {
		for name, row := range map[string]string{
			"text": "some text ", "rows": string(reply(148)), "lines": `a line of text that is as long as most\n`, "json": `{\"id\":\"5f2b\",\"path\":\"C:\\\\docs\"},`,
			"slashes": `https:\/\/example.com\/docs\/2026 `, "accents": `d\u00e9j\u00e0 vu `, "angles": `\u003cli\u003eitem\u003c\/li\u003e`, "letters": `h\u0065llo there `,
		} {
			text := []byte(`"` + strings.Repeat(row, size/len(row)+1) + `"`)
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, n := m.JSON(text); n != 0 {
						b.Fatal("found something")
					}
				}
			})
		}
	}
}

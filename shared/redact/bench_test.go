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
	m := redact.New(values(token, awkward)...)
	text := reply(1 << 10)
	if n := testing.AllocsPerRun(100, func() { m.Bytes(text) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// A reply with escapes is looked through once more for each level of them.
func BenchmarkEscapesThatHideNothing(b *testing.B) {
	m := redact.New(values("sk-Zq8vT1mXw0RkP3nJ7yLbD5sF2hGc9aEu")...)
	for name, row := range map[string]string{"lines": strings.Repeat("Lorem ipsum dolor sit amet, consectetur\\n", 26), "json": `{\"id\":\"5f2b\",\"path\":\"C:\\\\docs\"}`} {
		text := []byte(`"` + strings.Repeat(row, 1<<20/len(row)) + `"`)
		b.Run(name, func(b *testing.B) {
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

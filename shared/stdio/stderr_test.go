package stdio_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/stdio"
)

// TestStderrReachesTheLogMaskedCutAndQuoted line by line.
func TestStderrReachesTheLogMaskedCutAndQuoted(t *testing.T) {
	var log journal
	p := newPool(t, &log)
	long := strings.Repeat("x", stdio.MaxShown-1) + "é" + "tail"
	edge := strings.Repeat("y", stdio.MaxShown-4) + "sesame"
	r := ask(scripted(script{Says: []string{"plain words", "token=sesame", "\x1b[31mred\a\u202e", "a\rb", long, edge, "", strings.Repeat("z", stdio.MaxMasked+1) + "sesame", "after"}}), "echo")
	r.Mask = func(line string) string { return strings.ReplaceAll(line, "sesame", "[masked]") }
	pid := result(t, p, r).Facts.PID
	p.End(r.Key)
	got := log.String()
	for _, want := range []string{
		`level=INFO msg="server stderr" server=docs pid=` + itoa(pid) + ` line="\"plain words\""`,
		`line="\"token=[masked]\""`,
		`line="\"\\x1b[31mred\\a\\u202e\""`,
		`line="\"a\\rb\""`,
		`xx\"..."`,
		`yy[mas\"..."`,
		`line="\"after\""`,
		`level=WARN msg="server stderr not shown" server=docs pid=` + itoa(pid) + ` lines=1`,
		`msg="server process started" server=docs pid=` + itoa(pid),
		`msg="server process ended" server=docs pid=` + itoa(pid) + ` status="exit status 0"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	for _, not := range []string{"sesame", "tail", "zz", "\x1b", "\a", "\u202e", "\r"} {
		if strings.Contains(got, not) {
			t.Errorf("the log has %q", not)
		}
	}
	if t.Failed() {
		t.Logf("%.4000s", got)
	}
}

func TestStderrIsNeverShownWhereNobodyMasksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		p := stagedWith(&log, script{Says: []string{"token=sesame", "more"}})
		result(t, p, ask(stdio.Spec{}, "echo"))
		shut(t, p)
		if got := log.String(); strings.Contains(got, "sesame") || !strings.Contains(got, "lines=2") {
			t.Errorf("the log: %s", got)
		}
	})
}

// TestStderrIsBoundedInEachWindow counts what it leaves out.
func TestStderrIsBoundedInEachWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		p := stagedWith(&log, script{})
		r := ask(stdio.Spec{}, fmt.Sprint("stderr ", stdio.StderrLines+25))
		r.Mask = func(line string) string { return line }
		result(t, p, r)
		synctest.Wait()
		shown := func() int { return strings.Count(log.String(), `msg="server stderr" `) }
		if got := shown(); got != stdio.StderrLines {
			t.Errorf("%d lines are shown, want %d", got, stdio.StderrLines)
		}
		time.Sleep(stdio.StderrWindow)
		result(t, p, withTool(r, "stderr 10"))
		synctest.Wait()
		if got := shown(); got != stdio.StderrLines+10 || !strings.Contains(log.String(), "lines=25") {
			t.Errorf("%d lines are shown in all: %s", got, log.String())
		}
		shut(t, p)
		if got := strings.Count(log.String(), "not shown"); got != 1 {
			t.Errorf("it is said %d times that lines are not shown, want once", got)
		}
	})
}

// TestAFloodOnStderrDoesNotHinderAnswers: the pipe is emptied whatever is logged.
func TestAFloodOnStderrDoesNotHinderAnswers(t *testing.T) {
	var log journal
	p := newPool(t, &log)
	r := ask(scripted(script{}), "stderr 100000")
	r.Mask = func(line string) string { return line }
	result(t, p, r)
	if got := len(log.String()); got > 64<<10 {
		t.Errorf("the log has %d bytes", got)
	}
}

// pem is a secret with line breaks; its last line is short.
const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC/KcwggSj\nAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyji+A2b\nQg==\n-----END PRIVATE KEY-----\n"

// masksWhole replaces s where it is found whole, as a masker does.
func masksWhole(s string) func(string) string {
	return func(line string) string { return strings.ReplaceAll(line, s, "[masked]") }
}

// parts are what of pem must never be seen.
var parts = []string{"BEGIN PRIVATE", "MIIEvQIBAD", "AASC", "AgEAAoIBAQ", "YyjiA2b", "Qg==", "+A2b", "END PRIVATE"}

// TestASecretWithLineBreaksIsShownInNoForm prints it as servers do.
func TestASecretWithLineBreaksIsShownInNoForm(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(pem), "\n")
	tests := map[string]string{
		"as it is":           pem,
		"with CRLF":          strings.ReplaceAll(pem, "\n", "\r\n"),
		"with CR":            strings.ReplaceAll(pem, "\n", "\r"),
		"indented":           "  " + strings.ReplaceAll(pem, "\n", " \n\t"),
		"behind a prefix":    "key: " + lines[0] + "\n2026-11-30 ERROR " + lines[1] + " (line 2)\n",
		"quoted":             fmt.Sprintf("config %q\n", pem),
		"escaped":            `{"key":"` + strings.NewReplacer("\n", `\n`, "/", `\/`, "+", `\+`).Replace(pem) + `"}` + "\n",
		"the short line":     lines[3] + "\n",
		"without its end":    lines[1],
		"broken off":         "key: " + lines[1][:len(lines[1])-4],
		"broken off, begun":  pem[:40],
		"the rest of a line": lines[1] + lines[2],
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			got := logOfText(t, []string{"KEY=" + pem, "OTHER=x"}, pem, text)
			for _, part := range parts {
				if strings.Contains(got, part) {
					t.Errorf("the log has %q: %s", part, got)
				}
			}
			if !strings.Contains(got, "[redacted]") {
				t.Errorf("nothing is said of the lines: %s", got)
			}
		})
	}
}

// TestOtherLinesAreShownBesideASecretWithLineBreaks: an end of a line that
// happens to be in a secret hides nothing.
func TestOtherLinesAreShownBesideASecretWithLineBreaks(t *testing.T) {
	got := logOfText(t, []string{"KEY=" + pem, "EMPTY=", "BLANK= \n ", "FLAG=true"}, pem, "reading the key\n-----\nBEGIN\nx Qg== y\nis it true\nit is done")
	for _, line := range []string{"reading the key", "-----", "BEGIN", "x Qg== y", "is it true", "it is done"} {
		if !strings.Contains(got, fmt.Sprintf(`line="\"%s\""`, line)) {
			t.Errorf("the log lacks %q: %s", line, got)
		}
	}
}

// TestASecretIsMaskedHoweverItIsWritten: what comes in several writes is one
// line, and what breaks off inside a secret is not shown.
func TestASecretIsMaskedHoweverItIsWritten(t *testing.T) {
	const secret = "open-sesame-now"
	for at := 1; at < len(secret); at++ {
		got := logOfText(t, []string{"TOKEN=" + secret}, secret, "token="+secret[:at], secret[at:]+" is bad\n", "and "+secret[:at])
		if !strings.Contains(got, `line="\"token=[masked] is bad\""`) {
			t.Errorf("cut at %d: %s", at, got)
		}
		if at >= 4 && strings.Contains(got, secret[:4]) {
			t.Errorf("broken off at %d: %s", at, got)
		}
	}
}

// TestASecretAcrossTheBoundOfALineIsNotShown, be it written at once or not.
func TestASecretAcrossTheBoundOfALineIsNotShown(t *testing.T) {
	const secret = "open-sesame-now"
	for _, before := range []int{stdio.MaxMasked - len(secret), stdio.MaxMasked - len(secret) + 1, stdio.MaxMasked - 1, stdio.MaxMasked} {
		got := logOfText(t, []string{"TOKEN=" + secret}, secret, strings.Repeat("z", before), secret[:8], secret[8:]+"\nafter\n")
		shown := before+len(secret) <= stdio.MaxMasked
		if strings.Contains(got, "zz") != shown || strings.Contains(got, "sesame") || strings.Contains(got, "now") || !strings.Contains(got, `line="\"after\""`) {
			t.Errorf("after %d bytes: %.3000s", before, got)
		}
	}
}

// logOfText is what is logged of a child that writes texts to its stderr, one
// write each, and ends with its stdin. The mask finds secret whole.
func logOfText(t *testing.T, env []string, secret string, texts ...string) string {
	t.Helper()
	var log journal
	synctest.Test(t, func(t *testing.T) {
		p := stdio.NewStaged(stdio.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(*stdio.Spec) stdio.Actor {
			return func(stdin io.Reader, stdout, stderr io.Writer) string {
				for _, text := range texts {
					_, _ = io.WriteString(stderr, text)
				}
				return act(script{})(stdin, stdout, stderr)
			}
		})
		r := ask(stdio.Spec{Env: env}, "echo")
		r.Mask = masksWhole(secret)
		result(t, p, r)
		shut(t, p)
	})
	return log.String()
}

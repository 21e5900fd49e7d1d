package faults_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcprelay/test/hostile"
)

const (
	// flatRounds and flatClients are how often, and by how many at once, every
	// script is met.
	flatRounds  = 4
	flatClients = 8
	// flatBound is what the relay may take beyond its idle size, in KiB, while
	// all clients are served. 20 to 57 MiB were measured, none of it growing
	// after the first rounds: eight replies of 1 MiB are read into buffers that
	// double, and the heap grows to five times what is alive before it is
	// collected. A relay that reads on takes gigabytes.
	flatBound = 96 << 10
)

// greedy are servers that never stop, or unfold: what a relay that reads on
// would keep.
func greedy() []variant {
	text, zeros := strings.Repeat("x", 16<<10), deflated(100)
	tiny := strings.Repeat(hostile.Event(`{"jsonrpc":"2.0","method":"x"}`), 100)
	gzipped := okHead + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
	return []variant{
		{"a JSON body without an end", endless(okHead+"Connection: close\r\n\r\n"+`{"jsonrpc":"2.0","result":{"x":[`, strings.Repeat(`{"a":1},`, 2048))},
		{"a JSON string without an end", endless(okHead+"Connection: close\r\n\r\n"+`{"jsonrpc":"2.0","x":"`, text)},
		{"a line of a stream without an end", hostile.StreamEndless("data: ", text)},
		{"lines of one event without an end", hostile.StreamEndless("data: " + text + "\n")},
		{"100 MiB of zeros in 100 KiB", hostile.Status(http.StatusOK, "application/json", zeros, "Content-Encoding: gzip")},
		{"100 MiB of zeros in a stream", hostile.Status(http.StatusOK, "text/event-stream", zeros, "Content-Encoding: gzip")},
		{"empty gzip members without an end", endless(gzipped, strings.Repeat(hostile.Gzip(""), 500))},
		{"10,000 tiny events", hostile.Stream(strings.Repeat(tiny, maxEvents/100), hostile.Event(response))},
		{"9,999 tiny events and an answer", hostile.Stream(strings.Repeat("data\n\n", maxEvents-1), hostile.Event(response))},
		{"notifications without an end", hostile.StreamEndless(strings.Repeat(hostile.Event(progress), 100))},
		{"requests without an end", hostile.StreamEndless(strings.Repeat(hostile.Event(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"y":"`+text+`"}}`), 4))},
		{"1,000 headers", hostile.Bytes(okHead + strings.Repeat("X-Some: x\r\n", 1000) + "\r\n")},
		{"a head without an end", endless(okHead, strings.Repeat("X-Says: "+bait+"\r\n", 100))},
		{"a header without an end", endless(okHead+"X-Long: ", text)},
		{"informational replies without an end", endless("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100))},
		{"a length of a tebibyte", hostile.Pieces(okHead + "Content-Length: 1099511627776\r\n\r\n{")},
		{"an answer as large as may be", hostile.Result(`{"content":[],"x":"` + strings.Repeat("x", mebibyte-200) + `"}`)},
	}
}

// deflated is a gzip stream of n MiB of zeros that is never closed: the first
// MiB, and the blocks of the second again and again.
func deflated(n int) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	zeros := make([]byte, mebibyte)
	// Writing to memory cannot fail.
	_, _ = w.Write(zeros)
	_ = w.Flush()
	first := out.Len()
	_, _ = w.Write(zeros)
	_ = w.Flush()
	all := out.String()
	return all + strings.Repeat(all[first:], n-2)
}

func TestMemoryStaysFlatWhateverServersSend(t *testing.T) {
	scripts := greedy()
	up := hostile.Start(t, hostile.Options{})
	up.On("tools/call", func(c *hostile.Conn, r hostile.Request) {
		n, err := strconv.Atoi(strings.Trim(r.Arguments, `{"n:}`))
		if err != nil {
			up.Honest(c, r)
			return
		}
		scripts[n].script(c, r)
	})
	p := startProcess(t, up)
	together := func(arguments string) {
		var asking sync.WaitGroup
		for range flatClients {
			asking.Go(func() { p.ask(t, arguments) })
		}
		asking.Wait()
	}
	together("{}")
	idle := p.peak(t)
	p.forget(t)
	for round := range flatRounds {
		for n, v := range scripts {
			before := up.Calls()
			together(fmt.Sprintf(`{"n":%d}`, n))
			if got := up.Calls() - before; got != flatClients {
				t.Errorf("%s: %d calls, want %d", v.name, got, flatClients)
			}
		}
		peak := p.peak(t)
		t.Logf("round %d: %d clients, %d kinds of replies: peak %d KiB over the idle %d KiB", round+1, flatClients, len(scripts), peak-idle, idle)
		if peak-idle > flatBound {
			t.Errorf("round %d: the relay took %d KiB beyond its idle %d KiB, at most %d wanted", round+1, peak-idle, idle, flatBound)
		}
		p.forget(t)
	}
	together("{}")
}

// ask makes one call and drops the answer.
func (p *process) ask(t *testing.T, arguments string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/servers/up/tools/echo", strings.NewReader(`{"arguments":`+arguments+`}`))
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+processToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Errorf("asking the relay: %v", err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Errorf("reading the relay's reply: %v", err)
	}
	if arguments == "{}" && response.StatusCode != http.StatusOK {
		t.Errorf("an honest call got %d", response.StatusCode)
	}
}

// peak is the most memory that the process has had since the peak was last
// forgotten, in KiB (proc(5), VmHWM).
func (p *process) peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "kB", 2)[0]))
	if err != nil {
		t.Fatalf("the peak of the process: %v", err)
	}
	return kib
}

// forget makes what the process has now its peak (proc(5), clear_refs).
func (p *process) forget(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.proc("clear_refs"), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

func (p *process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.command.Process.Pid, file)
}

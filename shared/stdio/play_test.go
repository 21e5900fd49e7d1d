package stdio_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// script is how a server of the tests behaves. It travels in the environment,
// so a child is scripted by its Spec and by nothing else.
type script struct {
	Era     string   // modern, legacy, either, or how it takes discover: see there
	Refuses []string // versions that server/discover and tools/call are refused in, with Offers
	Offers  []string // what it says it supports
	Picks   string   // protocolVersion of initialize; what was asked for where empty
	Only    string   // the one version that initialize takes; with Fails it refuses that too
	Caps    string   // its capabilities; tools where empty
	Advice  string   // its instructions, JSON
	Tells   string   // a method before whose answer it reports progress and logs
	Banner  int      // lines on stdout before anything else
	Says    []string // lines on stderr before anything else
	Dies    int      // exit status before it reads anything; 0: it lives
	Fails   string   // a method that is answered with an error
	Code    int      // of that error; -32603 where zero
	NoID    string   // a method that is answered with an error without an id
	Odd     string   // a method that is answered with a line that breaks the protocol
	Deaf    string   // a method that is not answered
	Stuck   string   // a method at which it stops reading and writing
	Stays   bool     // takes no SIGTERM and no end of stdin
}

// player is a running script.
type player struct {
	script
	in     *bufio.Reader
	out    io.Writer
	err    io.Writer
	exit   func(int)
	log    []json.RawMessage // what came, oldest first
	held   []json.RawMessage // ids of requests that are not answered yet
	opened bool
}

// incoming is a message of the relay's.
type incoming struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Cursor    string

		ProtocolVersion string
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
}

// play runs the script until its input ends.
func (p *player) play() {
	if p.Stays {
		signal.Ignore(syscall.SIGTERM)
	}
	for _, line := range p.Says {
		fmt.Fprintln(p.err, line)
	}
	for i := range p.Banner {
		fmt.Fprintf(p.out, "[INFO] starting, step %d\n", i)
	}
	if p.Dies != 0 {
		p.exit(p.Dies)
		return
	}
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m incoming
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(p.err, "unreadable line %q\n", line)
			p.exit(99)
			return
		}
		p.log = append(p.log, bytes.TrimSuffix(line, []byte("\n")))
		if !p.answer(&m) {
			return
		}
	}
	if p.Stays {
		select {}
	}
}

// say writes one line.
func (p *player) say(format string, args ...any) bool {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err == nil
}

// result answers a request.
func (p *player) result(m *incoming, result string) bool {
	return p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// fail answers a request with an error.
func (p *player) fail(m *incoming, code int, data string) bool {
	if data != "" {
		data = `,"data":` + data
	}
	return p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"%s}}`, m.ID, code, data)
}

// answer takes one message, and reports whether the script goes on.
func (p *player) answer(m *incoming) bool {
	if m.Method == p.Tells {
		p.progress(m)
		p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
	}
	switch m.Method {
	case p.Fails:
		data := ""
		if p.Only != "" {
			data = `{"supported":["` + p.Only + `"]}`
		}
		return p.fail(m, cmp.Or(p.Code, -32603), data)
	case p.Deaf:
		return true
	case p.NoID:
		return p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`)
	case p.Odd:
		return p.say(`{"jsonrpc":"2.0","id":%s,"result":7}`, m.ID)
	case p.Stuck:
		return p.stick()
	case "server/discover":
		return p.discover(m)
	case "initialize":
		return p.initialize(m)
	case "ping", "logging/setLevel":
		return p.result(m, `{}`)
	case "notifications/initialized":
		p.opened = true
		return true
	case "tools/call":
		if p.refused(m) {
			return p.unsupported(m)
		}
		return p.call(m)
	case "resources/read", "prompts/get", "completion/complete":
		return p.result(m, `{"asked":`+string(p.log[len(p.log)-1])+`}`)
	case "tools/list", "resources/list", "prompts/list", "resources/templates/list":
		return p.list(m)
	}
	if m.ID == nil {
		return true
	}
	return p.fail(m, -32601, "")
}

// stick reads nothing any more until nobody reads what it writes.
func (p *player) stick() bool {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for p.say("") {
		<-tick.C
	}
	return false
}

func (p *player) refused(m *incoming) bool {
	for _, version := range p.Refuses {
		if string(m.Params.Meta["io.modelcontextprotocol/protocolVersion"]) == `"`+version+`"` {
			return true
		}
	}
	return false
}

func (p *player) unsupported(m *incoming) bool {
	offers, _ := json.Marshal(p.Offers)
	return p.fail(m, -32022, `{"supported":`+string(offers)+`}`)
}

func (p *player) discover(m *incoming) bool {
	offers := p.Offers
	if offers == nil {
		offers = []string{"2026-07-28"}
	}
	versions, _ := json.Marshal(offers)
	result := fmt.Sprintf(`{"resultType":"complete","supportedVersions":%s,"capabilities":%s%s}`, versions, p.caps(), p.advice())
	switch {
	case p.Era == "shy":
		p.exit(1)
		return false
	case p.Era == "mute":
		return true
	case p.Era == "late":
		p.held = append(p.held, m.ID)
		return true
	case p.Era == "blank":
		return p.result(m, `{}`)
	case p.Era == "terse":
		return p.result(m, `{"resultType":"complete"}`)
	case p.Era == "legacy":
		return p.fail(m, -32602, "")
	case p.refused(m) && p.Era != "either":
		return p.unsupported(m)
	}
	return p.result(m, result)
}

// advice is the member instructions of what opens the server, if it has any.
func (p *player) advice() string {
	if p.Advice == "" {
		return ""
	}
	return `,"instructions":` + p.Advice
}

func (p *player) caps() string { return cmp.Or(p.Caps, `{"tools":{}}`) }

func (p *player) initialize(m *incoming) bool {
	if p.Era == "late" {
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, p.held[0])
	}
	if p.Era == "late" || p.Era == "modern" {
		return p.fail(m, -32601, "")
	}
	asked := m.Params.ProtocolVersion
	if p.Only != "" && p.Only != asked {
		return p.fail(m, -32602, `{"supported":["`+p.Only+`"]}`)
	}
	version := cmp.Or(p.Picks, asked)
	if p.Picks == "none" {
		return p.result(m, `{"protocolVersion":20251125}`)
	}
	return p.result(m, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"peer","version":"1"}%s}`, version, p.caps(), p.advice()))
}

// list answers with what the environment's LIST says: pages by cursor.
func (p *player) list(m *incoming) bool {
	pages := map[string]string{}
	if err := json.Unmarshal([]byte(os.Getenv("LIST")), &pages); err != nil {
		return p.fail(m, -32603, "")
	}
	page, ok := pages[m.Method+" "+m.Params.Cursor]
	if !ok {
		return p.fail(m, -32601, "")
	}
	return p.result(m, page)
}

// call runs a tool: its name says what the server does.
func (p *player) call(m *incoming) bool {
	tool, arg, _ := strings.Cut(m.Params.Name, " ")
	n := 0
	_, _ = fmt.Sscan(arg, &n)
	switch tool {
	case "echo":
		return p.result(m, `{"content":[],"structuredContent":`+string(m.Params.Arguments)+`}`)
	case "facts":
		return p.facts(m)
	case "log":
		lines, _ := json.Marshal(p.log)
		return p.result(m, `{"content":[],"log":`+string(lines)+`}`)
	case "crash":
		p.exit(n)
		return false
	case "last": // words
		p.progress(m)
		p.progress(m)
		p.progress(m)
		p.result(m, `{"content":[],"text":"goodbye"}`)
		p.exit(0)
		return false
	case "stuck":
		p.progress(m)
		return p.stick()
	case "doze": // for so many milliseconds
		// arch:allow sleeps: it is played in a bubble, whose clock costs no time
		time.Sleep(time.Duration(n) * time.Millisecond)
		return p.result(m, `{"content":[]}`)
	case "hold":
		p.held = append(p.held, m.ID)
		return p.progress(m)
	case "release": // answers what was held, then this
		for _, id := range p.held {
			p.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"late":true}}`, id)
		}
		return p.result(m, `{"content":[]}`)
	case "noise":
		for range n {
			p.say("what a fine day")
		}
		return p.result(m, `{"content":[]}`)
	case "notify":
		for range n {
			p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		}
		return p.result(m, `{"content":[]}`)
	case "chatter": // goes on after its answer
		p.result(m, `{"content":[]}`)
		for p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`) {
		}
		return false
	case "large":
		return p.result(m, `{"content":[],"text":"`+strings.Repeat("x", n)+`"}`)
	case "endless":
		for {
			if _, err := p.out.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return false
			}
		}
	case "stderr":
		for i := range n {
			fmt.Fprintf(p.err, "line %d\n", i)
		}
		return p.result(m, `{"content":[]}`)
	case "raw": // lines that the arguments hold, $ID for the id
		var lines []string
		_ = json.Unmarshal(m.Params.Arguments, &struct{ Lines *[]string }{&lines})
		for _, line := range lines {
			p.say("%s", strings.ReplaceAll(line, "$ID", string(m.ID)))
		}
		return true
	case "peek":
		return p.peek(m)
	case "descendant":
		return p.descendant(m, arg == "away")
	case "shut": // closes its stdin, but lives
		_ = os.Stdin.Close()
		p.result(m, `{"content":[]}`)
		return p.stick()
	case "deaf": // reads no more, but lives
		p.result(m, `{"content":[]}`)
		return p.stick()
	}
	return p.fail(m, -32602, `{"tool":9007199254740993}`)
}

// progress tells a request that asked for it that the server has it.
func (p *player) progress(m *incoming) bool {
	token, ok := m.Params.Meta["progressToken"]
	return !ok || p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0}}`, token)
}

// facts says what the child sees of the world.
func (p *player) facts(m *incoming) bool {
	dir, _ := os.Getwd()
	entries, _ := os.ReadDir("/proc/self/fd")
	var open []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, to)
		}
	}
	facts, _ := json.Marshal(world{Env: os.Environ(), Name: os.Args[0], Args: os.Args[1:], Dir: dir, PID: os.Getpid(), Parent: os.Getppid(), Group: syscall.Getpgrp(), Open: open})
	return p.result(m, `{"content":[],"structuredContent":`+string(facts)+`}`)
}

// world is what facts says.
type world struct {
	Env, Args          []string
	Name, Dir          string
	PID, Parent, Group int
	Open               []string
}

// descendant starts a process of the child's own that holds its stdout, in the
// child's group or away from it.
func (p *player) descendant(m *incoming, away bool) bool {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{envRole + "=sleeper"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: away}
	if err := cmd.Start(); err != nil {
		return p.fail(m, -32000, "")
	}
	return p.result(m, fmt.Sprintf(`{"content":[],"structuredContent":{"PID":%d}}`, cmd.Process.Pid))
}

package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/test/hostile"
	"mcprelay/test/invariant"
)

// watch notes what a server had seen when an intent was kept, for all relays of
// a scene.
type watch struct {
	up     *hostile.Server
	before int // calls that the server saw before

	mu      sync.Mutex
	fronts  []*hostile.Front
	intents []invariant.Intent
	ids     map[string]bool // of sessions
	read    map[string]int  // how much of a text was judged already
}

// post is where one relay records and logs.
type post struct {
	*watch
	next relay.Recorder
	log  *hostile.Front
}

// join puts the watch into a relay that has not been asked yet.
func (w *watch) join(front *hostile.Front) {
	p := &post{watch: w, next: front.Pipeline.Recorder, log: front}
	front.Pipeline.Recorder, front.Pipeline.Lines = p, audit.NewLog(p, 0)
	w.fronts = append(w.fronts, front)
}

// Intent keeps an intent, then notes it.
func (p *post) Intent(ctx context.Context, record audit.Record) error {
	err := p.next.Intent(ctx, record)
	if err == nil {
		p.note(record)
	}
	return err
}

// Final keeps a final.
func (p *post) Final(ctx context.Context, record audit.Record) error {
	return p.next.Final(ctx, record)
}

// Write writes a line of the log; that of a read is its intent.
func (p *post) Write(line []byte) (int, error) {
	n, err := p.log.Log.Write(line)
	var record audit.Record
	if bytes.Contains(line, []byte(`"state":"intent"`)) && json.Unmarshal(line, &record) == nil && err == nil {
		p.note(record)
	}
	return n, err
}

func (w *watch) note(record audit.Record) {
	if record.Operation != call.OperationToolsCall {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.intents = append(w.intents, invariant.Intent{CallID: record.CallID, Posts: w.up.Calls() - w.before})
}

// since is what was added to the text of a name since it was asked for.
func (w *watch) since(name, text string) string {
	from := w.read[name]
	w.read[name] = len(text)
	return text[from:]
}

// run is what became of a scene so far; of the texts, what is new.
func (w *watch) run(s *scene) invariant.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := invariant.Run{
		Calls: s.calls, Intents: w.intents, Posts: w.up.Calls() - w.before, Secrets: s.secrets, Canaries: s.stage.hits(),
		Texts: map[string]string{},
	}
	for _, subject := range hostile.Subjects() {
		r.Tokens = append(r.Tokens, "agent-token-of-"+subject)
	}
	for _, front := range w.fronts {
		r.Texts["the log of "+front.URL] = w.since(front.URL, front.Log.String())
		for i, record := range front.Records() {
			if record.Operation == call.OperationToolsCall {
				r.Finals = append(r.Finals, record)
			}
			if i < w.read[front.URL+" records"] {
				continue
			}
			w.read[front.URL+" records"] = i + 1
			text, err := json.Marshal(record)
			if err != nil {
				s.t.Errorf("encoding a record: %v", err)
			}
			r.Texts["the record of "+record.CallID] = string(text)
		}
	}
	all := w.up.Requests()
	for _, request := range all[w.read["requests"]:] {
		r.Sent = append(r.Sent, request.Head+"\n"+string(request.Body))
		if id := request.Header.Get("Mcp-Session-Id"); id != "" {
			w.ids[id] = true
		}
	}
	w.read["requests"] = len(all)
	r.Sessions = slices.Collect(maps.Keys(w.ids))
	return r
}

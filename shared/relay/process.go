package relay

import (
	"context"
	"strconv"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/stdio"
)

// process is where a call goes instead of egress and exchange when the server
// is a child process. Callers and runs that differ never share a child, as they
// never share a session.
func (r *Relay) process(ctx context.Context, p plan, c credential, t *trail) (Answer, *call.Refusal) {
	if r.Processes == nil {
		return Answer{}, call.Refuse(call.ProcessFailed, "this relay runs no processes")
	}
	request := r.stdioRequest(p, c, t)
	ask := r.Processes.Call
	switch p.call.Operation {
	case call.OperationDiscover:
		ask = r.Processes.List
	case call.OperationSetLevel:
		ask = func(ctx context.Context, request stdio.Request) (stdio.Reply, error) {
			return r.Processes.SetLevel(ctx, request, p.call.Level)
		}
	}
	reply, err := ask(ctx, request)
	noteProcess(&t.record, reply.Facts)
	facts := exchange.Facts{
		Era: session.Era(reply.Facts.Era), Version: reply.Facts.Version, Session: reply.Facts.Session, Posts: reply.Facts.Requests,
		Offers: reply.Facts.Offers, Instructions: reply.Facts.Instructions,
	}
	if err != nil {
		return Answer{Facts: facts}, asRefusal(err)
	}
	if p.call.Operation == call.OperationDiscover {
		return r.listed(p, reply.Items, facts)
	}
	return r.answered(p, exchange.Reply{Result: reply.Result, Error: reply.Error, IsError: reply.IsError, ResultType: reply.ResultType, Facts: facts})
}

func (r *Relay) stdioRequest(p plan, c credential, t *trail) stdio.Request {
	limits := p.server.Limits
	return stdio.Request{
		Key:    string(sessionKey(p)),
		Server: p.server.Name,
		Spec: stdio.Spec{
			Command:  p.server.Process.Command,
			Args:     p.server.Process.Args,
			Env:      c.binding.Environ(),
			Frame:    limits.MaxFrameBytes,
			Result:   limits.MaxResultBytes,
			Startup:  orElse(limits.StartupTimeout, OpenBudget),
			Close:    limits.CloseTimeout,
			Attempts: orElse(limits.ReconnectAttempts, -1),
			Backoff:  orElse(limits.Backoff, noPause),
		},
		Asked:       r.request(p),
		List:        p.call.List,
		Meta:        p.call.Meta,
		Traceparent: p.call.Traceparent,
		Pages:       limits.MaxToolPages,
		Items:       limits.MaxTools,
		Mask:        t.masker.Text,
		Notify:      p.notify(t),
	}
}

func noteProcess(record *audit.Record, f stdio.Facts) {
	if f.PID != 0 {
		record.Address = "pid " + strconv.Itoa(f.PID)
	}
	record.Era, record.ProtocolVersion, record.Session = string(f.Era), f.Version, f.Session
	record.CancelSent = f.Cancelled
	record.Posts += f.Requests
	record.ServerRequests += f.ServerRequests
	record.Notifications += f.Notifications
	record.BytesOut += f.BytesOut
	record.BytesIn += f.BytesIn
}

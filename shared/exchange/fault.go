package exchange

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

var (
	errReplyTooLarge = errors.New("reply larger than its bound")
	errEndedEarly    = errors.New("stream ended without the response")
	errEventTooLarge = errors.New("an event larger than its bound")
)

// ended says what the end of ctx means for a call that waits: the caller went
// away, or time is up and the reason is late. An I/O error cannot tell: both
// surface as a timeout.
func ended(ctx context.Context, late call.Reason) call.Reason {
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return call.Cancelled
	}
	return late
}

// isTimeout reports whether err came of the end of ctx. The deadline of a
// socket may fire a moment before the context's own timer.
func isTimeout(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// unreached is the refusal where no connection could be had: nothing was sent.
func unreached(ctx context.Context, err error) *call.Refusal {
	if errors.Is(ctx.Err(), context.Canceled) && ended(ctx, call.Connect) == call.Cancelled {
		return &call.Refusal{Reason: call.Cancelled, Impact: call.ImpactNone, Err: err}
	}
	var refusal *call.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return &call.Refusal{Reason: call.Connect, Impact: call.ImpactNone, Err: err}
}

// headFault is the refusal where a request was written, in part at least, and
// no head came back: whether it ran is unknown.
func headFault(ctx context.Context, err error) *call.Refusal {
	switch {
	case isTimeout(ctx, err):
		return &call.Refusal{Reason: ended(ctx, call.HeadTimeout), Impact: call.ImpactUnknown, Err: err}
	case errors.Is(err, errHeadTooLarge):
		return &call.Refusal{Reason: call.HeadTooLarge, Impact: call.ImpactUnknown, Err: err}
	case errors.Is(err, errHead):
		return &call.Refusal{Reason: call.Protocol, Impact: call.ImpactUnknown, Detail: err.Error(), Quote: quoted(err), Err: err}
	}
	return &call.Refusal{Reason: call.ResetBeforeHead, Impact: call.ImpactUnknown, Err: err}
}

// bodyFault is the refusal where a head came and the reply could not be read.
// The texts of net/http and compress quote what they read, so they stay out
// of the detail.
func bodyFault(ctx context.Context, status int, err error) *call.Refusal {
	refusal := &call.Refusal{Impact: call.ImpactUnknown, Status: status, Err: err}
	switch {
	case isTimeout(ctx, err):
		refusal.Reason = ended(ctx, call.CallTimeout)
	case errors.Is(err, errReplyTooLarge), errors.Is(err, wire.ErrTooLarge):
		refusal.Reason = call.ReplyTooLarge
	case errors.Is(err, errEventTooLarge):
		refusal.Reason, refusal.Detail = call.ReplyTooLarge, err.Error()
	case errors.Is(err, wire.ErrTooManyEvents):
		refusal.Reason = call.TooManyEvents
	case errors.Is(err, errEncoding):
		refusal.Reason = call.Encoding
	case errors.Is(err, wire.ErrProtocol):
		refusal.Reason, refusal.Detail, refusal.Quote = call.Protocol, err.Error(), quoted(err)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, new(flate.CorruptInputError)):
		refusal.Reason, refusal.Detail = call.Encoding, "the gzip body is corrupt"
	case cut(err):
		refusal.Reason = call.StreamEndedEarly
	default:
		refusal.Reason, refusal.Detail = call.Protocol, "malformed transfer coding"
	}
	return refusal
}

// cut reports whether the bytes stopped coming, rather than being wrong.
func cut(err error) bool {
	return errors.Is(err, errEndedEarly) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, new(*net.OpError)) || errors.As(err, new(syscall.Errno)) || errors.Is(err, net.ErrClosed)
}

package registry

import (
	"fmt"
	"time"
)

// Limits bound the exchanges with one server; each of them acts. Sizes are in
// bytes.
type Limits struct {
	StartupTimeout     time.Duration
	RequestTimeout     time.Duration
	CloseTimeout       time.Duration // of ending a session, a cancelled call or a process
	MaxFrameBytes      int64         // of one event of a stream, or line of a process
	MaxResultBytes     int64
	MaxDescriptorBytes int64 // of one tool
	MaxToolPages       int
	MaxTools           int
	MaxInFlight        int           // calls of one process of the relay at a time
	ReconnectAttempts  int           // beyond the first, while nothing was sent
	Backoff            time.Duration // before each of them
}

// Limit is one bound that a registration may set: what holds where it is
// silent, the least and the most that it may say.
type Limit struct {
	Key     string // in the config file
	Default int64
	Least   int64
	Cap     int64
	set     func(*Limits, int64)
}

const mebibyte = 1 << 20

// ServerLimits lists the limits of a server.
func ServerLimits() []Limit {
	return []Limit{
		{"startup_timeout_ms", 10_000, 1, 30_000, func(l *Limits, n int64) { l.StartupTimeout = milliseconds(n) }},
		{"request_timeout_ms", 60_000, 1, 600_000, func(l *Limits, n int64) { l.RequestTimeout = milliseconds(n) }},
		{"close_timeout_ms", 2_000, 1, 10_000, func(l *Limits, n int64) { l.CloseTimeout = milliseconds(n) }},
		{"max_frame_bytes", mebibyte, 1, 5 * mebibyte, func(l *Limits, n int64) { l.MaxFrameBytes = n }},
		{"max_result_bytes", mebibyte, 1, 5 * mebibyte, func(l *Limits, n int64) { l.MaxResultBytes = n }},
		{"max_descriptor_bytes", mebibyte / 4, 1, mebibyte, func(l *Limits, n int64) { l.MaxDescriptorBytes = n }},
		{"max_tool_pages", 10, 1, 100, func(l *Limits, n int64) { l.MaxToolPages = int(n) }},
		{"max_tools", 64, 1, 512, func(l *Limits, n int64) { l.MaxTools = int(n) }},
		{"max_in_flight", 8, 1, 64, func(l *Limits, n int64) { l.MaxInFlight = int(n) }},
		{"reconnect_attempts", 1, 0, 3, func(l *Limits, n int64) { l.ReconnectAttempts = int(n) }},
		{"backoff_ms", 250, 0, 5_000, func(l *Limits, n int64) { l.Backoff = milliseconds(n) }},
	}
}

// DefaultLimits are the limits of a server that sets none.
func DefaultLimits() Limits {
	var limits Limits
	for _, l := range ServerLimits() {
		l.set(&limits, l.Default)
	}
	return limits
}

// Set puts n into limits, or says which bound of l it breaks. The error does
// not hold n.
func (l Limit) Set(limits *Limits, n int64) error {
	if err := within(n, l.Least, l.Cap); err != nil {
		return err
	}
	l.set(limits, n)
	return nil
}

// SetMaxServers puts n into s, or says which bound it breaks: 1 and
// [CapMaxServers]. The error does not hold n.
func (s *Settings) SetMaxServers(n int64) error {
	if err := within(n, 1, CapMaxServers); err != nil {
		return err
	}
	s.MaxServers = int(n)
	return nil
}

// within says which of two bounds n breaks.
func within(n, least, top int64) error {
	switch {
	case n > top:
		return fmt.Errorf("it is over the hard cap of %d", top)
	case n < least:
		return fmt.Errorf("it is under the least of %d", least)
	}
	return nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

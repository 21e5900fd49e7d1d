package registry

import (
	"fmt"
	"time"
)

// Limits bound the exchanges with one server. Sizes are in bytes.
type Limits struct {
	StartupTimeout     time.Duration
	RequestTimeout     time.Duration
	CloseTimeout       time.Duration
	MaxFrameBytes      int64
	MaxResultBytes     int64
	MaxDescriptorBytes int64 // of one tool
	MaxToolPages       int
	MaxTools           int
	MaxInFlight        int
	ReconnectAttempts  int
	Backoff            time.Duration
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

const (
	mebibyte = 1 << 20

	// DefaultMaxServers is how many servers are offered to one caller where
	// max_servers is not set.
	DefaultMaxServers = 8
	// CapMaxServers is the most that max_servers may be.
	CapMaxServers = 64
)

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

// Set puts n into limits, or says which bound of l it breaks.
func (l Limit) Set(limits *Limits, n int64) error {
	if err := l.Check(n); err != nil {
		return err
	}
	l.set(limits, n)
	return nil
}

// Check says which bound of l the number n breaks.
func (l Limit) Check(n int64) error {
	switch {
	case n > l.Cap:
		return fmt.Errorf("%d is over the hard cap of %d", n, l.Cap)
	case n < l.Least:
		return fmt.Errorf("%d is under the least of %d", n, l.Least)
	}
	return nil
}

// MaxServersLimit is the limit max_servers of a tenant.
func MaxServersLimit() Limit {
	return Limit{Key: "max_servers", Default: DefaultMaxServers, Least: 1, Cap: CapMaxServers}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

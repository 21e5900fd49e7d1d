package registry

import "time"

// Limit is a configurable bound: what holds where the configuration is
// silent, and the most that it may say.
type Limit struct {
	Key     string // in the config file
	Default int
	Cap     int
	Least   int
}

// ServersLimit bounds the servers that are offered to one caller.
var ServersLimit = Limit{Key: "max_servers", Default: 8, Cap: 64, Least: 1}

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

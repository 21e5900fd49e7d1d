package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/registry"
)

func TestDefaultLimits(t *testing.T) {
	want := registry.Limits{
		StartupTimeout: 10 * time.Second, RequestTimeout: time.Minute,
		CloseTimeout: 2 * time.Second, MaxFrameBytes: 1 << 20,
		MaxResultBytes: 1 << 20, MaxDescriptorBytes: 256 << 10, MaxToolPages: 10, MaxTools: 64,
		MaxInFlight: 8, ReconnectAttempts: 1, Backoff: 250 * time.Millisecond,
	}
	if got := registry.DefaultLimits(); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestHardCaps(t *testing.T) {
	caps := map[string]int64{
		"startup_timeout_ms": 30_000, "request_timeout_ms": 600_000,
		"max_result_bytes": 5 << 20, "max_descriptor_bytes": 1 << 20, "max_tool_pages": 100, "max_tools": 512,
		"close_timeout_ms": 10_000, "max_frame_bytes": 5 << 20, "max_in_flight": 64, "reconnect_attempts": 3, "backoff_ms": 5_000,
	}
	limits, set := registry.ServerLimits(), new(registry.Limits)
	if len(limits) != len(caps) {
		t.Errorf("%d limits, want %d", len(limits), len(caps))
	}
	for _, l := range limits {
		top := caps[l.Key]
		if err := l.Set(set, top); err != nil {
			t.Errorf("%s: %d: %v", l.Key, top, err)
		}
		if err := l.Set(set, top+1); err == nil || !strings.Contains(err.Error(), fmt.Sprint("cap of ", top)) {
			t.Errorf("%s: %d: got %v, want the cap %d in it", l.Key, top+1, err, top)
		}
		for _, low := range []int64{-1, l.Least - 1} {
			if err := l.Set(set, low); err == nil {
				t.Errorf("%s: %d is accepted", l.Key, low)
			}
		}
		if l.Default < l.Least || l.Default > l.Cap {
			t.Errorf("%s: the default %d is out of bounds", l.Key, l.Default)
		}
	}
}

// Whoever wants no second attempt, or no pause before it, can say so; anything
// else that is zero would let no call through.
func TestLeastValues(t *testing.T) {
	for _, l := range registry.ServerLimits() {
		want := int64(1)
		if l.Key == "reconnect_attempts" || l.Key == "backoff_ms" {
			want = 0
		}
		if l.Least != want {
			t.Errorf("%s: the least is %d, want %d", l.Key, l.Least, want)
		}
	}
}

func TestServersOfferedToOneCaller(t *testing.T) {
	for n, want := range map[int64]string{1: "", 8: "", 64: "", 65: "it is over the hard cap of 64", 0: "it is under the least of 1", -1: "it is under the least of 1"} {
		settings := registry.DefaultSettings()
		err := settings.SetMaxServers(n)
		switch {
		case want == "" && (err != nil || settings.MaxServers != int(n)):
			t.Errorf("%d: got %d, %v", n, settings.MaxServers, err)
		case want != "" && (err == nil || err.Error() != want || settings.MaxServers != 8):
			t.Errorf("%d: got %d, %v, want 8, %s", n, settings.MaxServers, err, want)
		}
	}
}

func TestEachLimitSetsItsOwnField(t *testing.T) {
	seen := make(map[registry.Limits]string)
	for _, l := range registry.ServerLimits() {
		var limits registry.Limits
		if err := l.Set(&limits, l.Cap); err != nil {
			t.Fatal(err)
		}
		if other, there := seen[limits]; there || limits == (registry.Limits{}) {
			t.Errorf("%s sets what %s sets", l.Key, other)
		}
		seen[limits] = l.Key
		if err := l.Set(&limits, l.Cap+1); err == nil {
			t.Errorf("%s: over its cap", l.Key)
		}
	}
}

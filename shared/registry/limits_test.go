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
		MaxResultBytes: 1 << 20, MaxDescriptorBytes: 256 << 10, MaxToolPages: 10, MaxTools: 64,
	}
	if got := registry.DefaultLimits(); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestHardCaps(t *testing.T) {
	caps := map[string]int64{
		"startup_timeout_ms": 30_000, "request_timeout_ms": 600_000,
		"max_result_bytes": 5 << 20, "max_descriptor_bytes": 1 << 20, "max_tool_pages": 100, "max_tools": 512,
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

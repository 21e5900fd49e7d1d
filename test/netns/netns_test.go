package netns_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcprelay/test/netns"
)

func TestRunGivesLoopbackAddressesAndNothingElse(t *testing.T) {
	o := netns.Options{Addresses: []netip.Prefix{
		netip.MustParsePrefix("10.77.0.2/24"),
		netip.MustParsePrefix("93.184.216.34/32"),
	}}
	netns.Run(t, o, func(t *testing.T) {
		interfaces, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range interfaces {
			if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
				t.Errorf("interface %s is up, want only the loopback one", i.Name)
			}
		}
		for _, addr := range []string{"127.0.0.1:53", "10.77.0.2:443", "93.184.216.34:443", "10.77.0.2:0"} {
			connectBack(t, addr)
		}
		if conn, err := net.Dial("tcp", "203.0.113.1:443"); err == nil {
			conn.Close()
			t.Error("an address outside was reached, want no way out")
		}
	})
}

func connectBack(t *testing.T, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listening on %s: %v", addr, err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("connecting to %s: %v", addr, err)
	}
	conn.Close()
}

func TestRunReplacesTheFilesForChildrenToo(t *testing.T) {
	o := netns.Options{ResolvConf: "nameserver 127.0.0.1\nsearch corp.example\n", Hosts: "10.77.0.2 mcp.example.com\n"}
	netns.Run(t, o, func(t *testing.T) {
		for path, want := range map[string]string{"/etc/resolv.conf": o.ResolvConf, "/etc/hosts": o.Hosts} {
			got, err := os.ReadFile(path)
			if err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
			}
			child, err := exec.Command("cat", path).Output()
			if err != nil || string(child) != want {
				t.Errorf("%s in a child: got %q, %v, want %q", path, child, err, want)
			}
		}
		addrs, err := net.LookupHost("mcp.example.com")
		if err != nil || len(addrs) != 1 || addrs[0] != "10.77.0.2" {
			t.Errorf("LookupHost: got %v, %v, want the address of the hosts file", addrs, err)
		}
	})
}

func TestRunLeavesTheMachineAsItIs(t *testing.T) {
	before, _ := os.ReadFile("/etc/hosts")
	t.Run("inside", func(t *testing.T) {
		netns.Run(t, netns.Options{Hosts: "10.77.0.3 changed.example\n"}, func(t *testing.T) {
			if !netns.Inside() {
				t.Error("Inside is false in the body, want true")
			}
		})
	})
	if netns.Inside() {
		return // the copy that ran the subtest
	}
	if after, _ := os.ReadFile("/etc/hosts"); string(after) != string(before) {
		t.Errorf("/etc/hosts changed outside: got %q, want %q", after, before)
	}
}

func TestRunWorksInSubtestsWhoseNamesNeedQuoting(t *testing.T) {
	for _, name := range []string{"plain", "with spaces (and) [brackets]", "a+b.c"} {
		t.Run(name, func(t *testing.T) {
			netns.Run(t, netns.Options{}, func(t *testing.T) {
				if !strings.HasPrefix(t.Name(), "TestRunWorksInSubtests") {
					t.Errorf("name is %s, want this test's", t.Name())
				}
			})
		})
	}
}

func TestRunAddsIPv6Addresses(t *testing.T) {
	o := netns.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("fd77::2/64")}}
	netns.Run(t, o, func(t *testing.T) {
		connectBack(t, "[fd77::2]:443")
		connectBack(t, "[::1]:443")
	})
}

// A failure inside must fail the test outside, and so must a skip: the copy of
// this very test shows both.
func TestRunReportsFailuresAndSkips(t *testing.T) {
	if mode := os.Getenv("NETNS_PROBE"); mode != "" {
		netns.Run(t, netns.Options{}, func(t *testing.T) {
			if mode == "fail" {
				t.Error("failing on purpose")
			}
			if mode == "skip" {
				t.SkipNow() // arch:allow skips: the copy shows that a skip does not pass
			}
		})
		return
	}
	for mode, want := range map[string]string{
		"fail": "failing on purpose",
		"skip": "did not run to its end",
	} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestRunReportsFailuresAndSkips$")
		cmd.Env = append(os.Environ(), "NETNS_PROBE="+mode)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v and\n%s\nwant a failure that says %q", mode, err, out, want)
		}
	}
}

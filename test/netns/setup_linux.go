package netns

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// prepare makes the namespace of this process what o asks for. The files it
// mounts are kept in dir.
func prepare(dir string, o Options) error {
	// Without this the mounts below would show outside on systems that share
	// their mounts (mount_namespaces(7)).
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	files := []struct{ path, text string }{
		{"/etc/resolv.conf", o.resolvConf()},
		{"/etc/hosts", o.hosts()},
		{"/etc/nsswitch.conf", "hosts: files dns\n"},
	}
	for _, f := range files {
		if err := replace(dir, f.path, f.text); err != nil {
			return fmt.Errorf("replacing %s: %w", f.path, err)
		}
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback interface: %w", err)
	}
	if err := raise(lo.Name); err != nil {
		return fmt.Errorf("raising the loopback interface: %w", err)
	}
	for _, p := range o.Addresses {
		if err := address(lo.Index, p); err != nil {
			return fmt.Errorf("adding %s: %w", p, err)
		}
		if err := settle(p.Addr()); err != nil {
			return fmt.Errorf("waiting for the route to %s: %w", p, err)
		}
	}
	return nil
}

// replace mounts a file with text over path, or over what path links to. Only
// nsswitch.conf may be missing: without it files come before DNS anyway.
func replace(dir, path, text string) error {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path == "/etc/nsswitch.conf" {
		return nil
	}
	if err != nil {
		return err
	}
	source := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return err
	}
	return unix.Mount(source, target, "", unix.MS_BIND, "")
}

// raise sets an interface's IFF_UP (netdevice(7)); 127.0.0.1 and ::1 come with it.
func raise(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return err
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// address adds p to an interface and waits for the kernel's acknowledgement
// (rtnetlink(7)).
func address(index int, p netip.Prefix) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, newAddress(index, p), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, os.Getpagesize())
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return err
	}
	if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel did not acknowledge")
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.NLMSG_HDRLEN:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// settle waits for the host route to a. The kernel adds an IPv6 address's from
// a work queue, and until then the first packet to it is lost and TCP waits a
// second to try again; IPv4's is there at once.
func settle(a netip.Addr) error {
	const patience, pause = 10 * time.Second, 2 * time.Millisecond
	if a.Is4() {
		return nil
	}
	raw := a.As16()
	route := []byte(hex.EncodeToString(raw[:]) + " 80 ") // /128
	for began := time.Now(); ; <-time.After(pause) {
		routes, err := os.ReadFile("/proc/self/net/ipv6_route")
		if err != nil || bytes.Contains(routes, route) {
			return err
		}
		if time.Since(began) > patience {
			return errors.New("the kernel adds none")
		}
	}
}

// newAddress is an RTM_NEWADDR message: nlmsghdr, ifaddrmsg, two attributes.
func newAddress(index int, p netip.Prefix) []byte {
	family, flags := byte(unix.AF_INET), byte(0)
	if p.Addr().Is6() {
		// Usable at once: nobody else can hold the address (RFC 4862, 5.4).
		family, flags = unix.AF_INET6, unix.IFA_F_NODAD
	}
	native := binary.NativeEndian
	msg := native.AppendUint32(nil, 0) // the length, set below
	msg = native.AppendUint16(msg, unix.RTM_NEWADDR)
	msg = native.AppendUint16(msg, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	msg = native.AppendUint32(msg, 1) // sequence
	msg = native.AppendUint32(msg, 0) // from this process
	msg = append(msg, family, byte(p.Bits()), flags, unix.RT_SCOPE_UNIVERSE)
	msg = native.AppendUint32(msg, uint32(index))
	raw := p.Addr().AsSlice()
	for _, kind := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		msg = native.AppendUint16(msg, uint16(4+len(raw)))
		msg = native.AppendUint16(msg, kind)
		msg = append(msg, raw...)
	}
	native.PutUint32(msg, uint32(len(msg)))
	return msg
}

"""Reads addresses from stdin, each a length byte (4 or 16) and that many bytes,
and writes one byte each to stdout: 1 where ipaddress holds it globally reachable.
The first line of output is the version of Python."""
import ipaddress
import sys

raw = sys.stdin.buffer.read()
print(sys.version.split()[0], flush=True)
out = bytearray()
at = 0
while at < len(raw):
    size = raw[at]
    number = int.from_bytes(raw[at + 1:at + 1 + size], "big")
    address = ipaddress.IPv4Address(number) if size == 4 else ipaddress.IPv6Address(number)
    out.append(1 if address.is_global else 0)
    at += 1 + size
sys.stdout.buffer.write(out)

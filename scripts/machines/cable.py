#!/usr/bin/env python3
"""A network cable between two network namespaces, with delay, loss and limited speed.

    cable.py NAMESPACE NAMESPACE [--delay-ms D] [--loss P] [--mbit M] [--mtu N]

Each namespace gets an interface `cable0` (10.77.0.1 and 10.77.0.2), and every packet that one sends reaches the other D
milliseconds later, unless it is lost, which happens to a fraction P; each direction carries M million bits a second and
drops what its queue (100 ms, but at least 64 packets) cannot hold. Linux can do this in its kernel (tc's netem), but many
kernels come without that module; this needs /dev/net/tun alone. "ready" is printed once the cable can be used; it ends with
SIGTERM, and the interfaces with it.
"""
import argparse
import collections
import fcntl
import os
import random
import selectors
import struct
import subprocess
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x2, 0x1000


def open_end(namespace, address, mtu):
    """An open TAP device that is the namespace's interface cable0."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"cable{os.getpid() % 10000}-{address[-1]}"
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    for command in (["ip", "link", "set", name, "netns", namespace, "name", "cable0"],
                    ["ip", "-n", namespace, "link", "set", "cable0", "mtu", str(mtu)],
                    ["ip", "-n", namespace, "addr", "add", f"{address}/24", "dev", "cable0"],
                    ["ip", "-n", namespace, "link", "set", "cable0", "up"]):
        subprocess.run(command, check=True)
    return end


class Direction:
    """What one end sends to the other."""

    def __init__(self, source, target, options):
        self.source, self.target, self.options = source, target, options
        self.free_at = 0.0  # when the last packet has been put on the wire
        self.packets = collections.deque()  # (when it arrives, its bytes); times only grow
        self.random = random.Random(source)

    def read(self, now):
        for _ in range(64):
            try:
                packet = os.read(self.source, 65536)
            except BlockingIOError:
                return
            if self.random.random() < self.options.loss:
                continue
            start = max(now, self.free_at)
            seconds = len(packet) * 8 / (self.options.mbit * 1e6) if self.options.mbit else 0.0
            if start - now > 0.1 and len(self.packets) >= 64:
                continue
            self.free_at = start + seconds
            self.packets.append((self.free_at + self.options.delay_ms * 1e-3, packet))

    def write(self, now):
        while self.packets and self.packets[0][0] <= now:
            try:
                os.write(self.target, self.packets.popleft()[1])
            except (BlockingIOError, OSError):
                pass  # the interface is down or full: the packet is lost, as on a real cable


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("namespaces", nargs=2)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="of one direction")
    parser.add_argument("--loss", type=float, default=0.0, help="fraction of the packets")
    parser.add_argument("--mbit", type=float, default=0.0, help="million bits a second; 0: no limit")
    parser.add_argument("--mtu", type=int, default=9000)
    options = parser.parse_args()

    ends = [open_end(options.namespaces[i], f"10.77.0.{i + 1}", options.mtu) for i in range(2)]
    directions = [Direction(ends[0], ends[1], options), Direction(ends[1], ends[0], options)]
    selector = selectors.DefaultSelector()
    for direction in directions:
        selector.register(direction.source, selectors.EVENT_READ, direction)
    print("ready", flush=True)
    while True:
        due = min((d.packets[0][0] for d in directions if d.packets), default=None)
        wait = None if due is None else max(0.0, due - time.monotonic())
        # A selector counts in milliseconds: what is nearer is waited for by looking again.
        for key, _ in selector.select(0 if wait is not None and wait < 1e-3 else wait):
            key.data.read(time.monotonic())
        now = time.monotonic()
        for direction in directions:
            direction.write(now)


if __name__ == "__main__":
    main()

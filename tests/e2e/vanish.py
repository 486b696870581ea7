"""Peers that vanish: a machine behind a network device of our own that answers as TCP asks until it is switched off.

    unshare --map-root-user --net python vanish.py DATA

Starts a server on the folder, has one peer that acknowledges everything and goes silent in an open stream, and one that
goes while an answer is on its way to it, and prints after how many seconds the server has let go of each as JSON."""

import fcntl
import json
import os
import random
import select
import socket
import struct
import sys
import time

from conftest import Server

HERE, THERE = socket.inet_aton("10.9.0.1"), socket.inet_aton("10.9.0.2")
FIN, SYN, ACK, PSH = 1, 2, 16, 8
# Seconds after which waiting makes no sense any more.
PATIENCE_S = 150


def device():
    """The near end of a network of its own whose other machine is this program."""
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"peer", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        address = lambda name, ip: struct.pack("16sHH4s16x", name, socket.AF_INET, 0, ip)  # noqa: E731
        fcntl.ioctl(s, 0x8916, address(b"peer", HERE))  # SIOCSIFADDR
        fcntl.ioctl(s, 0x891C, address(b"peer", socket.inet_aton("255.255.255.0")))  # SIOCSIFNETMASK
        for name in (b"lo", b"peer"):
            fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", name, 0x41))  # SIOCSIFFLAGS: up and running
    return tun


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data[:len(data) // 2 * 2])) + (data[-1] << 8 if len(data) % 2 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Peer:
    """One connection of the machine over there, of the least that TCP asks for."""

    def __init__(self, tun, port):
        self.tun, self.port, self.own = tun, port, random.randrange(20_000, 60_000)
        self.seq, self.next, self.got = random.randrange(1 << 31), 0, b""
        self.send(SYN)
        self.seq += 1
        self.hear(lambda: self.next)

    def send(self, flags, data=b""):
        head = struct.pack(">HHIIBBHHH", self.own, self.port, self.seq & 0xFFFFFFFF, self.next, 5 << 4, flags, 60_000, 0, 0)
        pseudo = THERE + HERE + struct.pack(">BBH", 0, 6, len(head) + len(data))
        segment = head[:16] + struct.pack(">H", checksum(pseudo + head + data)) + head[18:] + data
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0, THERE, HERE)
        os.write(self.tun, ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + segment)
        self.seq += len(data)

    def hear(self, until, seconds=10):
        """Takes and acknowledges what comes in order until it is enough."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.tun], [], [], left)[0]:
                assert until is never, f"no answer within {seconds} s: {self.got[:200]}"
                return
            packet = os.read(self.tun, 1 << 16)
            if packet[0] >> 4 != 4 or packet[9] != 6:
                continue
            segment = packet[(packet[0] & 15) * 4:]
            port, seq, flags = struct.unpack(">H", segment[2:4])[0], struct.unpack(">I", segment[4:8])[0], segment[13]
            data = segment[(segment[12] >> 4) * 4:]
            if port != self.own:
                continue
            if flags & SYN:
                self.next = seq + 1
            elif seq != self.next:
                continue
            else:
                self.next, self.got = (seq + len(data)) & 0xFFFFFFFF, self.got + data
            if data or flags & SYN:
                self.send(ACK)


def never():
    return False


def there(own):
    """Whether the server's side of the connection is still open."""
    local = f"{int.from_bytes(THERE, sys.byteorder):08X}:{own:04X}"
    return any(line.split()[2] == local for line in open("/proc/net/tcp"))


def main(folder):
    tun, server = device(), Server(folder, "--backend", "cpu")
    server.server = f"0.0.0.0:{server.port}"
    server.start()
    try:
        silent = Peer(tun, server.port)
        silent.send(PSH | ACK, (f"GET /viz/vanish/ws?dataset=Karate HTTP/1.1\r\nHost: 10.9.0.1:{server.port}\r\nConnection: Upgrade\r\n"
                                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
        silent.hear(lambda: b"101 Switching" in silent.got and b'"hello"' in silent.got)
        # What the session says in its first seconds is acknowledged, too.
        silent.hear(never, 3)
        cut = Peer(tun, server.port)
        cut.send(PSH | ACK, f"GET /openapi.json HTTP/1.1\r\nHost: 10.9.0.1:{server.port}\r\n\r\n".encode())
        cut.hear(lambda: b"200 OK" in cut.got)
        gone, began, left = {}, time.monotonic(), {"silent": silent.own, "cut": cut.own}
        assert there(silent.own) and there(cut.own)
        while left and time.monotonic() - began < PATIENCE_S:
            time.sleep(0.25)
            for name in [name for name, own in left.items() if not there(own)]:
                gone[name] = time.monotonic() - began
                del left[name]
        # Only the one that asks is left.
        left = {name: server.metric(name) for name in ("http_connections", "viewers")}
        print(json.dumps({"gone": gone, "left": left, "end": server.stop()}))
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1])

#!/usr/bin/env python3
"""Prints the head of a pcap file and, for each packet, addresses, ports and the bytes of TCP it carries. usage: pcap.py FILE"""
import socket, struct, sys, time

d = open(sys.argv[1], 'rb').read()
print('magic %#x version %d.%d linktype %d' % (struct.unpack_from('<IHH', d) + struct.unpack_from('<I', d, 20)))
at = 24
while at < len(d):
    sec, nsec, size, whole = struct.unpack_from('<IIII', d, at)
    ip = d[at + 16:at + 16 + size]
    at += 16 + size
    head = (ip[0] & 15) * 4
    sport, dport = struct.unpack_from('>HH', ip, head)
    bytes_ = struct.unpack_from('>H', ip, 2)[0] - head - (ip[head + 12] >> 4) * 4
    now = abs(sec + nsec / 1e9 - time.time()) < 60
    print('%s:%d > %s:%d %d bytes%s' % (socket.inet_ntoa(ip[12:16]), sport, socket.inet_ntoa(ip[16:20]), dport, bytes_, '' if now else ', not now'))

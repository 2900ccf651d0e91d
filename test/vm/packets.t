# skboutput(): packets of a transfer in a pcap file.

NAME skboutput of a transfer whose bytes are known
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 5 700' -e 'fentry:__dev_queue_xmit /args.skb.len > 700 && args.skb.len < 1000/ { $r = skboutput("{tmp}/a.pcap", args.skb, args.skb.len, 14); @[$r] = count() }' && python3 {top}/test/vm/pcap.py {tmp}/a.pcap
EXPECT_RE ^magic 0xa1b23c4d version 2\.4 linktype 101\n(127\.0\.0\.1:20004 > 127\.0\.0\.1:30004 700 bytes\n){5}
EXPECT_LINE @[0]: 5

NAME skboutput of more bytes than there are
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 2 700' -e 'fentry:__dev_queue_xmit /args.skb.len > 700 && args.skb.len < 1000/ { @[skboutput("{tmp}/b.pcap", args.skb, args.skb.len + 1, 0)] = count() }' && wc -c <{tmp}/b.pcap
EXPECT_LINE @[-14]: 2
EXPECT_LINE 24

NAME skboutput of a pointer the kernel does not know
NEED fentry
RUN {sonde} -q -e 'fentry:__dev_queue_xmit { $s = (struct sk_buff *)1; @ = skboutput("{tmp}/c.pcap", $s, 10, 0) }'
RC 1
STDERR skboutput() takes the packet straight from the probe's arguments, as args.skb

NAME skboutput where it cannot be
RUN {sonde} -q -e 'begin { $s = (struct sk_buff *)1; @ = skboutput("x.pcap", $s, 10, 0) }'
RC 1
STDERR skboutput can only be used with 'fentry' and 'fexit' probes

NAME skboutput of more packets than the buffers take: told, --strict ends with 3
NEED fentry
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -c '{build}/tcp 4 3000 700' -e 'config = { perf_rb_pages = 1; } fentry:__dev_queue_xmit /args.skb.len > 700 && args.skb.len < 1000/ { for ($i : 0..50) { @ = skboutput("{tmp}/d.pcap", args.skb, args.skb.len, 0) } } END { clear(@) }' >o 2>e; echo "$? $(grep -c 'packets were lost' e) $(grep -c '"type": "packets_lost"' o)"; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

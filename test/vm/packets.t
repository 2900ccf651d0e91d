# skboutput(): packets of a transfer in a pcap file.

NAME skboutput of a transfer whose bytes are known
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 5 700' -e 'fentry:__dev_queue_xmit /args.skb.len > 700 && args.skb.len < 1000/ { $r = skboutput("{tmp}/a.pcap", args.skb, args.skb.len, 14); @[$r] = count() }' && python3 {top}/test/vm/pcap.py {tmp}/a.pcap
EXPECT_RE ^magic 0xa1b23c4d version 2\.4 linktype 101\n(127\.0\.0\.1:40004 > 127\.0\.0\.1:50004 700 bytes\n){5}
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

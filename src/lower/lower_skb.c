// skboutput(path, skb, length, offset) -> bpf_skb_output: the kernel copies the packet, paged parts too, into a perf event buffer.
#include <linux/bpf.h>
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"

struct Val l_skboutput(struct Lower *l, struct Expr *e)
{
	u32 map = sonde_map(l, "sonde_packets", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, l->o->ncpus, 0);
	struct Val head = tmp_mem(l, NULL, sizeof(struct RtPacket));
	struct IrVal skb = lx(l, e->args[1]).v;
	// at most BPF_F_CTXLEN_MASK; a length beyond the packet's end is refused with -EFAULT (net/core/filter.c, bpf_skb_event_output)
	struct IrVal len = ir_bin(&l->b, IR_AND, lx_int(l, e->args[2]), ir_imm(0xfffff));
	ir_store(&l->b, head.v, head.off, 8, boot_ns(l));
	ir_store(&l->b, head.v, head.off + (s32)offsetof(struct RtPacket, site), 4, ir_imm(e->fmt));
	ir_store(&l->b, head.v, head.off + (s32)offsetof(struct RtPacket, len), 4, len);
	ir_store(&l->b, head.v, head.off + (s32)offsetof(struct RtPacket, offset), 8, ir_imm((s64)e->args[3]->ival));
	struct IrVal flags = ir_bin(&l->b, IR_OR, ir_bin(&l->b, IR_SHL, len, ir_imm(32)), ir_imm(BPF_F_CURRENT_CPU));
	struct IrVal args[5] = {skb, ir_mapfd(map), flags, addr_of(l, head), ir_imm(sizeof(struct RtPacket))};
	return num(e, ir_call(&l->b, H_SKB_OUTPUT, args, 5));
}

// A module of the kernel for a probe on its lines (kernel.t): what is written to /proc/sondeline is counted in worked(), a round for each byte. kmod.py builds it.
#include <linux/module.h>
#include <linux/proc_fs.h>

static noinline long worked(long n)
{
	long sum = 0;
	while (n > 0) {
		sum += n * n; // round
		n--;
	}
	return sum;
}

static ssize_t wrote(struct file *f, const char __user *buf, size_t n, loff_t *at)
{
	return worked(n) > 0 ? n : 0; // write
}

static const struct proc_ops ops = {.proc_write = wrote};

static int __init begin(void)
{
	return proc_create("sondeline", 0600, NULL, &ops) ? 0 : -ENOMEM; // once
}

static void __exit end(void)
{
	remove_proc_entry("sondeline", NULL);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");

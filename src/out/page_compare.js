// Two profiles compared: of each box and each function its share before and after, the difference, where that lies, and a verdict.
// In: trees (page_tree.js) whose boxes have `pair`, what they hold of each profile; what page.c says of how much runs vary. Out: differences.
// Invariant: the numbers are those of `sonde diff` (tool/compare.c: Newcombe's intervals of Wilson's, so wide that those of all rows hold together). Boxes and
// functions have half of the alarms that are allowed each.
(function (S) {
	"use strict";
	S.CANNOT_TELL = 0; S.MORE = 1; S.LESS = 2;
	S.VERDICTS = ["cannot tell", "more", "less"];

	// The complement of the error function, to 1.2e-7 of itself (Numerical Recipes 6.2).
	function erfc(x) {
		var t = 2 / (2 + x), of = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
		return t * Math.exp(of.reduceRight(function (sum, c) { return c + t * sum; }, 0) - x * x);
	}
	// How many standard deviations a normal deviate exceeds, up or down, with probability alpha
	function deviations(alpha) {
		var lo = 0, hi = 40;
		for (var i = 0; i < 60; i++) {
			var mid = (lo + hi) / 2;
			if (erfc(mid / Math.SQRT2) > alpha)
				lo = mid;
			else
				hi = mid;
		}
		return hi;
	}
	function wilson(p, n, z) {
		var zz = z * z / n, mid = (p + zz / 2) / (1 + zz), half = z * Math.sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz);
		return [Math.max(mid - half, 0), Math.min(mid + half, 1)];
	}
	function compare(diff, x1, n1, x2, n2, measured, z) {
		var p1 = n1 ? x1 / n1 : 0, p2 = n2 ? x2 / n2 : 0, c = { before: p1, after: p2, diff: p2 - p1, lo: -1, hi: 1, verdict: S.CANNOT_TELL };
		if (!n1 || !n2 || !diff.counts)
			return c;
		var p = (x1 + x2) / (n1 + n2), v = p * (1 - p), spread = Math.max(measured, diff.spread + 2 * n1 * n2 / (n1 + n2) * (diff.any + diff.own * v * v), 1);
		var a = wilson(p1, n1 / spread, z), b = wilson(p2, n2 / spread, z);
		c.lo = c.diff - Math.hypot(p2 - b[0], a[1] - p1);
		c.hi = c.diff + Math.hypot(b[1] - p2, p1 - a[0]);
		if (x1 + x2 >= diff.least)
			c.verdict = c.lo > 0 ? S.MORE : c.hi < 0 ? S.LESS : S.CANNOT_TELL;
		return c;
	}
	// Rows to be judged: those with the same counts say the same, and are one.
	function countTests(diff, tests, x1, x2, measured) {
		if (x1 + x2 >= diff.least)
			tests.add(x1 + " " + x2 + " " + measured);
	}
	function quantile(diff, tests) { return deviations(diff.alpha / 2 / Math.max(tests.size, 1)); }
	function spreadOf(diff, name, total) { return (diff.spreads.get(name) || [0, 0])[total ? 1 : 0]; }

	// Of box i, worked out when it is first asked for.
	S.change = function (d, t, i) {
		var n1 = t.pair[0][0], n2 = t.pair[1][0], diff = d.diff;
		if (!t.changes) {
			for (var tests = new Set(), k = 1; k < t.n; k++)
				countTests(diff, tests, t.pair[0][k], t.pair[1][k], spreadOf(diff, t.keys.names[t.key[k]], true));
			t.changes = new Array(t.n);
			t.quantile = quantile(diff, tests);
		}
		if (!t.changes[i])
			t.changes[i] = compare(diff, t.pair[0][i], n1, t.pair[1][i], n2, spreadOf(diff, i ? t.keys.names[t.key[i]] : "", true), t.quantile);
		return t.changes[i];
	};

	// Of all functions: { self, total } by key. of: what S.functions() counted.
	S.changesOf = function (d, t, of) {
		var n1 = t.pair[0][0], n2 = t.pair[1][0], tests = new Set(), out = { self: [], total: [] };
		["self", "total"].forEach(function (kind) {
			of.list.forEach(function (k) { countTests(d.diff, tests, of.pair[kind][0][k], of.pair[kind][1][k], spreadOf(d.diff, t.keys.names[k], kind === "total")); });
		});
		var z = quantile(d.diff, tests);
		["self", "total"].forEach(function (kind) {
			of.list.forEach(function (k) {
				out[kind][k] = compare(d.diff, of.pair[kind][0][k], n1, of.pair[kind][1][k], n2, spreadOf(d.diff, t.keys.names[k], kind === "total"), z);
			});
		});
		return out;
	};

	// The largest differences that are ones first, then the others.
	S.byChange = function (a, b) {
		return !b.verdict - !a.verdict ? !a.verdict - !b.verdict : Math.abs(b.diff) - Math.abs(a.diff);
	};

	function signed(x) { return (x < 0 ? "-" : "+") + (100 * Math.abs(x)).toFixed(2); }
	S.changeText = function (d, c) {
		return (100 * c.before).toFixed(2) + " % before, " + (100 * c.after).toFixed(2) + " % after: " + signed(c.diff) + (d.diff.counts ? " (" + S.rangeText(c) + "), " + S.VERDICTS[c.verdict] : ", no verdict");
	};
	S.rangeText = function (c) { return signed(c.lo) + " to " + signed(c.hi); };
	S.signed = signed;
})(window.sonde);

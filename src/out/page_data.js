// The profile that the page carries, decoded, and its numbers as text.
// In: the JSON that page.c writes: a table of strings, frames and a tree of stacks as arrays of numbers, samples that end at a node of that tree.
// Out: typed arrays. Invariant: no number is changed; what is shown of it is made here only.
window.sonde = window.sonde || {};
(function (S) {
	"use strict";
	S.KINDS = ["user", "inlined", "kernel", "note", "label", "language"]; // page.c, enum FrameKind
	S.USER = 0; S.INLINED = 1; S.KERNEL = 2; S.NOTE = 3; S.LABEL = 4;

	function ints(list) { return Int32Array.from(list); }

	// What samples can be told apart by: one value a sample, as an index into names.
	function Dimension(id, title, names, of) {
		this.id = id;
		this.title = title;
		this.names = names;
		this.of = of;
	}

	function dimension(id, title, of, nameOf) {
		var seen = new Map(), names = [], index = new Int32Array(of.length);
		for (var i = 0; i < of.length; i++) {
			var name = nameOf(of[i]), at = seen.get(name);
			if (at === undefined) {
				at = names.length;
				seen.set(name, at);
				names.push(name);
			}
			index[i] = at;
		}
		return new Dimension(id, title, names, index);
	}

	// Languages of the frames on each stack, as bits, so that a filter keeps stacks with a frame of that language.
	function languages(d) {
		var bits = new Int32Array(d.node.frame.length);
		for (var i = 1; i < bits.length; i++)
			bits[i] = bits[d.node.parent[i]] | 1 << d.frame.language[d.node.frame[i]];
		return bits;
	}

	S.load = function (text) {
		var j = JSON.parse(text), d = { title: j.title, unit: j.unit, period: j.period, start: j.start, duration: j.duration, command: j.command, strings: j.strings,
			group: j.group ? "label-" + j.group : "process" };
		d.frame = { name: ints(j.frames.name), object: ints(j.frames.object), file: ints(j.frames.file), line: ints(j.frames.line), kind: Uint8Array.from(j.frames.kind),
			    language: Uint8Array.from(j.frames.language) };
		d.node = { parent: ints(j.nodes.parent), frame: ints(j.nodes.frame) };
		d.sample = { node: ints(j.samples.node), value: Float64Array.from(j.samples.value, Number) };
		d.parts = j.parts.map(function (p) { return { name: p.name, value: Float64Array.from(p.value, Number) }; });
		if (j.diff) {
			d.diff = { before: j.diff.before, after: j.diff.after, counts: j.diff.counts, alpha: j.diff.alpha, least: j.diff.least, spread: j.diff.spread, any: j.diff.any, own: j.diff.own, spreads: new Map() };
			j.diff.names.forEach(function (n, i) { // a function's self and total are a row each
				var have = d.diff.spreads.get(d.strings[n]) || [0, 0];
				d.diff.spreads.set(d.strings[n], [Math.max(have[0], j.diff.self[i]), Math.max(have[1], j.diff.total[i])]);
			});
		}
		d.heat = j.heat ? S.heatOf(j.heat) : null;
		d.languageNames = j.languages;
		d.languageBits = languages(d);
		d.kinds = S.KINDS.map(function (_, k) { return d.frame.kind.indexOf(k) >= 0; });
		d.hasLines = d.frame.file.some(function (f) { return f !== 0; });
		var text1 = function (i) { return d.strings[i]; };
		d.dimensions = [dimension("process", "Process", ints(j.samples.process), text1)];
		d.dimensions.push(dimension("pid", j.threads ? "Thread" : "Process id", j.samples.pid.map(function (p, i) { return i; }), function (i) {
			return j.samples.pid[i] ? d.strings[j.samples.process[i]] + " (" + j.samples.pid[i] + ")" : "";
		}));
		j.labels.forEach(function (l) {
			d.dimensions.push(dimension("label-" + l.name, l.name.charAt(0).toUpperCase() + l.name.slice(1), ints(l.value), text1));
		});
		d.total = d.sample.value.reduce(function (a, b) { return a + b; }, 0);
		return d;
	};

	// ---- numbers as text
	S.grouped = function (v) { return String(v).replace(/\B(?=(\d{3})+$)/g, ","); };
	S.duration = function (ns) {
		return ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(2) + " ms" : (ns / 1e3).toFixed(ns < 1e3 ? 3 : 0) + " us";
	};
	S.amount = function (d, v) {
		if (d.unit === "us" || d.unit === "ns")
			return S.duration(d.unit === "us" ? v * 1e3 : v);
		var unit = v === 1 && d.unit.endsWith("s") ? d.unit.slice(0, -1) : d.unit;
		return S.grouped(v) + " " + unit + (d.period ? " (" + S.duration(v * d.period) + ")" : "");
	};
	S.short = function (d, v) { return d.unit === "us" || d.unit === "ns" ? S.amount(d, v) : S.grouped(v); };
	S.percent = function (v, of) {
		var p = of ? 100 * v / of : 0;
		return (p !== 0 && p < 0.01 ? "<0.01" : p.toFixed(p < 10 ? 2 : 1)) + " %";
	};
})(window.sonde);

// Trees of boxes. In: the profile, what is merged into one box, which samples are kept. Out: trees as arrays in preorder (a box, its first child's
// boxes, its second child's ...), so that the boxes on top of box i are those from i + 1 to i + size[i].
// Invariant: the value of a box is the sum of its children's and its own; no sample is in two boxes of one row, none is left out.
(function (S) {
	"use strict";

	// ---- what one box is: frames with the same key are one

	S.objectOf = function (d, f) {
		var path = f < 0 ? "" : d.strings[d.frame.object[f]];
		return f < 0 || d.frame.kind[f] !== S.KERNEL ? path : path ? "[" + path.replace(/^\[|\]$/g, "") + "]" : "[kernel]";
	};
	function objectName(d, f) {
		var path = S.objectOf(d, f);
		return path.slice(path.lastIndexOf("/") + 1) || (d.frame.kind[f] === S.NOTE ? d.strings[d.frame.name[f]] : "[unknown]");
	}

	function frameText(d, f, merge) {
		if (merge === "object")
			return objectName(d, f);
		var name = d.strings[d.frame.name[f]], file = d.strings[d.frame.file[f]];
		return merge === "line" && file ? name + " " + file + ":" + d.frame.line[f] : name;
	}

	S.Keys = function (d, merge) {
		var seen = new Map(), n = d.frame.name.length;
		this.merge = merge;
		this.names = [];
		this.frame = [];	       // the first frame of each key; -1: none, a label
		this.mixed = [];	       // its frames are of several objects
		this.of = new Int32Array(n);   // of a frame
		this.seen = seen;
		for (var f = 0; f < n; f++) {
			this.of[f] = this.add(frameText(d, f, merge), d.frame.kind[f] === S.KERNEL ? "k" : d.frame.kind[f] === S.NOTE ? "n" : "u", f);
			this.mixed[this.of[f]] = this.mixed[this.of[f]] || d.frame.object[f] !== d.frame.object[this.frame[this.of[f]]];
		}
		this.ranks = null;
	};
	S.Keys.prototype.add = function (name, kind, frame) {
		var text = kind + name, k = this.seen.get(text);
		if (k === undefined) {
			k = this.names.length;
			this.seen.set(text, k);
			this.names.push(name);
			this.frame.push(frame);
			this.ranks = null;
		}
		return k;
	};
	// Place of each key in the order of names.
	S.Keys.prototype.rank = function () {
		if (!this.ranks) {
			var names = this.names, order = names.map(function (_, i) { return i; });
			order.sort(function (a, b) { return names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b; });
			this.ranks = new Int32Array(order.length);
			for (var i = 0; i < order.length; i++)
				this.ranks[order[i]] = i;
		}
		return this.ranks;
	};

	// ---- making a tree: boxes in the order they are met, found again by (parent, key)

	function Builder(d) {
		this.cap = 1024;
		this.n = 1;
		this.parent = new Int32Array(this.cap);
		this.key = new Int32Array(this.cap).fill(-1, 0, 1);
		this.kind = new Uint8Array(this.cap).fill(S.LABEL, 0, 1);
		this.frame = new Int32Array(this.cap).fill(-1, 0, 1); // the first one; -1: a label
		this.mixed = new Uint8Array(this.cap);		      // bits: frames of several objects, of several lines
		this.value = new Float64Array(this.cap);
		this.self = new Float64Array(this.cap);
		this.slots = new Int32Array(this.cap * 2);
		this.pair = d.diff ? [new Float64Array(this.cap), new Float64Array(this.cap)] : []; // of self, what is of either profile
	}
	// Box v gets what number i of `self` and `pair` has.
	Builder.prototype.give = function (v, self, pair, i) {
		this.self[v] += self[i];
		for (var p = 0; p < this.pair.length; p++)
			this.pair[p][v] += pair[p][i];
	};
	function longer(a, n) {
		var b = new a.constructor(n);
		b.set(a);
		return b;
	}
	Builder.prototype.slot = function (parent, key) {
		var mask = this.slots.length - 1, h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b);
		for (h = (h ^ h >>> 15) & mask; ; h = (h + 1) & mask) {
			var at = this.slots[h];
			if (!at || (this.parent[at] === parent && this.key[at] === key))
				return h;
		}
	};
	Builder.prototype.grow = function () {
		this.cap *= 2;
		["parent", "key", "kind", "frame", "mixed", "value", "self"].forEach(function (f) { this[f] = longer(this[f], this.cap); }, this);
		this.pair = this.pair.map(function (p) { return longer(p, this.cap); }, this);
		this.slots = new Int32Array(this.cap * 2);
		for (var i = 1; i < this.n; i++)
			this.slots[this.slot(this.parent[i], this.key[i])] = i;
	};
	S.OBJECTS = 1; S.LINES = 2;
	// mixed: what the frames that `frame` stands for are already known to be.
	Builder.prototype.step = function (d, parent, key, kind, frame, mixed) {
		var h = this.slot(parent, key), at = this.slots[h], first = this.frame[at];
		if (at && frame !== first && frame >= 0 && first >= 0)
			mixed |= (d.frame.object[frame] !== d.frame.object[first] ? S.OBJECTS : 0) |
				(d.frame.file[frame] !== d.frame.file[first] || d.frame.line[frame] !== d.frame.line[first] ? S.LINES : 0);
		if (at)
			this.mixed[at] |= mixed;
		if (!this.slots[h]) {
			if (this.n === this.cap) {
				this.grow();
				h = this.slot(parent, key);
			}
			this.parent[this.n] = parent;
			this.key[this.n] = key;
			this.kind[this.n] = kind;
			this.frame[this.n] = frame;
			this.mixed[this.n] = mixed;
			this.slots[h] = this.n++;
		}
		return this.slots[h];
	};

	// Boxes by name: sorted by the key's rank, then, keeping that order, by parent. Children lie side by side then.
	function childrenByName(b, rank) {
		var n = b.n, i, count = new Int32Array(rank.length + 1), byRank = new Int32Array(n), start = new Int32Array(n + 1), kids = new Int32Array(n);
		for (i = 1; i < n; i++)
			count[rank[b.key[i]] + 1]++;
		for (i = 1; i <= rank.length; i++)
			count[i] += count[i - 1];
		for (i = 1; i < n; i++)
			byRank[count[rank[b.key[i]]]++] = i;
		for (i = 1; i < n; i++)
			start[b.parent[i] + 1]++;
		for (i = 1; i <= n; i++)
			start[i] += start[i - 1];
		var fill = start.slice();
		for (i = 0; i < n - 1; i++)
			kids[fill[b.parent[byRank[i]]]++] = byRank[i];
		return { kids: kids, start: start };
	}

	// Values have been added to `self`; a parent stands before its children.
	Builder.prototype.finish = function (keys) {
		var n = this.n, i, p, at = 0, stack = new Int32Array(n), top = 0, c;
		this.value.set(this.self);
		var pair = this.pair.map(function (p) { return p.slice(0, n); });
		for (i = n - 1; i > 0; i--) {
			this.value[this.parent[i]] += this.value[i];
			for (p = 0; p < pair.length; p++)
				pair[p][this.parent[i]] += pair[p][i];
		}
		var by = childrenByName(this, keys.rank()), t = { n: n, keys: keys, key: new Int32Array(n), parent: new Int32Array(n), depth: new Int32Array(n), size: new Int32Array(n).fill(1),
			kind: new Uint8Array(n), frame: new Int32Array(n), mixed: new Uint8Array(n), value: new Float64Array(n), self: new Float64Array(n), x: new Float64Array(n), height: 0,
			pair: pair.map(function () { return new Float64Array(n); }), pairSelf: pair.map(function () { return new Float64Array(n); }) };
		var place = new Int32Array(n), cursor = new Float64Array(n);
		stack[top++] = 0;
		while (top) {
			i = stack[--top];
			p = i ? place[this.parent[i]] : -1;
			place[i] = at;
			t.key[at] = this.key[i];
			t.kind[at] = this.kind[i];
			t.frame[at] = this.frame[i];
			t.mixed[at] = this.mixed[i];
			t.value[at] = this.value[i];
			t.self[at] = this.self[i];
			t.parent[at] = p;
			for (c = 0; c < pair.length; c++) {
				t.pair[c][at] = pair[c][i];
				t.pairSelf[c][at] = this.pair[c][i];
			}
			if (p >= 0) {
				t.depth[at] = t.depth[p] + 1;
				t.x[at] = cursor[p];
				cursor[p] += t.value[at];
				t.height = Math.max(t.height, t.depth[at]);
			}
			cursor[at] = t.x[at];
			for (c = by.start[i + 1] - 1; c >= by.start[i]; c--)
				stack[top++] = by.kids[c];
			at++;
		}
		for (i = n - 1; i > 0; i--)
			t.size[t.parent[i]] += t.size[i];
		return t;
	};

	// ---- the trees

	// From the root. keep: which samples, as bytes; value: of each; group: the dimension that makes the first row, or null.
	S.forward = function (d, keys, keep, value, group) {
		var b = new Builder(d), pair = d.diff ? d.parts.map(function (p) { return p.value; }) : [], nodes = d.node.parent.length, memo = new Int32Array(nodes), stamp = new Int32Array(nodes).fill(-1), way = [];
		var order = [], i, g, n, v, k, f, collapse = keys.merge === "object";
		for (i = 0; i < d.sample.node.length; i++)
			if (keep[i] && (value[i] || d.diff))
				order.push(i);
		if (group)
			order.sort(function (x, y) { return group.of[x] - group.of[y] || x - y; });
		for (i = 0; i < order.length; i++) {
			g = group ? group.of[order[i]] : 0;
			if (stamp[0] !== g) {
				stamp[0] = g;
				memo[0] = group && group.names[g] ? b.step(d, 0, keys.add(group.names[g], "l", -1), S.LABEL, -1, 0) : 0;
			}
			for (n = d.sample.node[order[i]]; stamp[n] !== g; n = d.node.parent[n])
				way.push(n);
			for (v = memo[n]; way.length; ) {
				n = way.pop();
				f = d.node.frame[n];
				k = keys.of[f];
				if (!collapse || b.key[v] !== k || b.kind[v] === S.LABEL)
					v = b.step(d, v, k, d.frame.kind[f], f, 0);
				memo[n] = v;
				stamp[n] = g;
			}
			b.give(v, value, pair, order[i]);
		}
		return b.finish(keys);
	};

	// From where the value is, callers behind.
	S.reversed = function (d, t) {
		var b = new Builder(d);
		for (var i = 0; i < t.n; i++) {
			if (!t.self[i] && !t.pairSelf.some(function (p) { return p[i]; }))
				continue;
			for (var v = 0, n = i; n > 0; n = t.parent[n])
				v = b.step(d, v, t.key[n], t.kind[n], t.frame[n], t.mixed[n]);
			b.give(v, t.self, t.pairSelf, i);
		}
		return b.finish(t.keys);
	};

	// Boxes of a function that are in no other box of it: what they hold is its total.
	S.outermost = function (t, key) {
		var found = [];
		for (var i = 1; i < t.n; )
			if (t.key[i] === key) {
				found.push(i);
				i += t.size[i];
			} else
				i++;
		return found;
	};

	// Who calls a function, and what it calls: two trees on one function.
	S.sandwich = function (d, t, key) {
		var up = new Builder(d), down = new Builder(d), map = new Int32Array(t.n);
		S.outermost(t, key).forEach(function (f) {
			var v = up.step(d, 0, key, t.kind[f], t.frame[f], t.mixed[f]), i;
			for (i = t.parent[f]; i > 0; i = t.parent[i])
				v = up.step(d, v, t.key[i], t.kind[i], t.frame[i], t.mixed[i]);
			up.give(v, t.value, t.pair, f);
			map[f] = down.step(d, 0, key, t.kind[f], t.frame[f], t.mixed[f]);
			down.give(map[f], t.self, t.pairSelf, f);
			for (i = f + 1; i < f + t.size[f]; i++) {
				map[i] = down.step(d, map[t.parent[i]], t.key[i], t.kind[i], t.frame[i], t.mixed[i]);
				down.give(map[i], t.self, t.pairSelf, i);
			}
		});
		return { callers: up.finish(t.keys), callees: down.finish(t.keys) };
	};

	// Self and total of each key within box `from`; recursion counts once.
	S.functions = function (t, from) {
		var n = t.keys.names.length, self = new Float64Array(n), total = new Float64Array(n), open = new Int32Array(n), kind = new Uint8Array(n), way = [], list = [], met = new Uint8Array(n);
		var pair = { self: t.pair.map(function () { return new Float64Array(n); }), total: t.pair.map(function () { return new Float64Array(n); }) }, p;
		for (var i = from; i < from + t.size[from]; i++) {
			while (way.length && t.depth[vecLast(way)] >= t.depth[i])
				open[t.key[way.pop()]]--;
			var k = t.key[i];
			if (k < 0)
				continue;
			if (!met[k]) {
				met[k] = 1;
				list.push(k);
				kind[k] = t.kind[i];
			}
			self[k] += t.self[i];
			for (p = 0; p < t.pair.length; p++) {
				pair.self[p][k] += t.pairSelf[p][i];
				pair.total[p][k] += open[k] ? 0 : t.pair[p][i];
			}
			if (!open[k]++)
				total[k] += t.value[i];
			way.push(i);
		}
		return { list: list.filter(function (k) { return kind[k] !== S.LABEL; }), self: self, total: total, kind: kind, pair: pair, all: t.value[from] };
	};
	function vecLast(a) { return a[a.length - 1]; }

	// ---- a box's place as text: "2.0*7.1" is the third child of the root, seven times the first child, the second child of that
	S.pathOf = function (t, i) {
		var way = [], out = [], c, nth;
		for (; i > 0; i = t.parent[i]) {
			for (nth = 0, c = t.parent[i] + 1; c !== i; c += t.size[c])
				nth++;
			way.push(nth);
		}
		for (i = way.length - 1; i >= 0; i = c) {
			for (c = i; c >= 0 && way[c] === way[i]; )
				c--;
			out.push(i - c > 1 ? way[i] + "*" + (i - c) : String(way[i]));
		}
		return out.join(".");
	};
	S.boxAt = function (t, path) {
		var i = 0, steps = path ? path.split(".") : [];
		for (var s = 0; s < steps.length; s++) {
			var m = /^(\d+)(?:\*(\d+))?$/.exec(steps[s]);
			if (!m)
				return 0;
			for (var times = +(m[2] || 1); times > 0; times--) {
				var end = i + t.size[i], c = i + 1;
				for (var nth = +m[1]; nth > 0 && c < end; nth--)
					c += t.size[c];
				if (c >= end)
					return i;
				i = c;
			}
		}
		return i;
	};
	// Leaf first. turned: the tree's root is at the leaves.
	S.stackText = function (d, t, i, turned) {
		var lines = [];
		for (var n = i; n > 0; n = t.parent[n])
			lines.push("    " + t.keys.names[t.key[n]]);
		if (turned)
			lines.reverse();
		lines.push("        " + S.amount(d, t.value[i]) + ", " + S.percent(t.value[i], t.value[0]));
		return lines.join("\n") + "\n";
	};
})(window.sonde);

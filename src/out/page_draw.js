// A pane draws one tree on a canvas as large as what is seen of it, and tells what is pointed at, chosen and zoomed into.
// In: a tree (page_tree.js), the box that fills the width, which keys match a search. Out: a picture, calls of the pane's `on` functions.
// Invariant: a box narrower than MIN pixels is not drawn but counted; a run of them is a grey block as wide as all of them.
(function (S) {
	"use strict";
	var MIN = 0.5;
	var SHADES = 8;
	// Hue, saturation and lightness by kind. The kinds differ in lightness as well as in hue, so that who sees no red or green tells them apart.
	var PALETTE = {
		light: { user: [24, 90, 66], inlined: [52, 92, 78], kernel: [209, 70, 60], note: [60, 3, 72], label: [250, 24, 88], language: [312, 30, 60], more: [26, 88, 62], less: [211, 74, 62], same: [60, 4, 80], narrow: "#b9b9b2", hit: "#7b0f6b", hitText: "#fff", text: "#17181a", edge: "#fbfbf9" },
		dark: { user: [22, 75, 37], inlined: [165, 80, 23], kernel: [212, 60, 36], note: [260, 6, 20], label: [250, 12, 24], language: [280, 75, 51], more: [20, 78, 38], less: [212, 66, 38], same: [220, 5, 25], narrow: "#4a4d52", hit: "#f2a6e6", hitText: "#1b1018", text: "#f5f5f4", edge: "#16181b" }
	};
	// Likewise, of the objects that have most.
	var OBJECT_HUES = {
		light: [[22, 65, 55], [210, 85, 81], [54, 90, 57], [242, 90, 75], [346, 90, 65], [112, 55, 87], [316, 65, 59], [82, 90, 81]],
		dark: [[234, 90, 40], [84, 80, 24], [324, 80, 38], [154, 75, 26], [264, 40, 44], [194, 60, 32], [292, 90, 14], [56, 45, 14]]
	};

	S.OBJECT_COLOURS = OBJECT_HUES.light.length;

	function hash(text) {
		var h = 2166136261;
		for (var i = 0; i < text.length; i++)
			h = Math.imul(h ^ text.charCodeAt(i), 16777619);
		return (h ^ h >>> 15) >>> 0;
	}

	S.theme = "light";
	S.colourBy = "kind";
	var shades = {};
	function hsl(c, shade, spread) {
		var id = c.join() + "/" + shade;
		if (!shades[id])
			shades[id] = "hsl(" + c[0] + " " + c[1] + "% " + (c[2] + (shade / (SHADES - 1) - 0.5) * spread) + "%)";
		return shades[id];
	}
	S.kindColour = function (kind, shade) {
		return hsl(PALETTE[S.theme][S.KINDS[kind]], shade === undefined ? SHADES / 2 : shade, 4);
	};
	S.CHANGES = ["same", "more", "less"]; // by verdict
	S.changeColour = function (verdict, shade) {
		return hsl(PALETTE[S.theme][S.CHANGES[verdict]], shade === undefined ? SHADES / 2 : shade, 4);
	};
	S.objectColour = function (rank, shade) {
		return rank >= 0 && rank < S.OBJECT_COLOURS ? hsl(OBJECT_HUES[S.theme][rank], shade, 5) : S.kindColour(S.NOTE, shade);
	};
	// Objects by their own share of the whole profile, largest first: Map of name -> place. The first ones have a colour each, the others one together.
	S.objectRank = function (d) {
		if (d.objectRank)
			return d.objectRank;
		var self = new Map();
		d.node.frame.forEach(function (f, n) {
			if (n && d.frame.kind[f] !== S.LABEL && d.frame.kind[f] !== S.NOTE)
				self.set(S.objectOf(d, f), 0);
		});
		d.sample.node.forEach(function (n, i) {
			var name = S.objectOf(d, d.node.frame[n]);
			if (self.has(name))
				self.set(name, self.get(name) + d.sample.value[i]);
		});
		var names = Array.from(self.keys()).sort(function (a, b) { return self.get(b) - self.get(a) || (a < b ? -1 : 1); });
		return d.objectRank = new Map(names.map(function (name, i) { return [name, i]; }));
	};
	// [name, colour] of each object with one of its own, and of the others.
	S.objectLegend = function (d) {
		var names = Array.from(S.objectRank(d).keys()), rows = names.slice(0, S.OBJECT_COLOURS).map(function (name, i) { return [name.slice(name.lastIndexOf("/") + 1) || "[unknown]", S.objectColour(i, SHADES / 2)]; });
		return names.length > rows.length ? rows.concat([[names.length - rows.length + " others", S.objectColour(-1, SHADES / 2)]]) : rows;
	};
	// The colour of a key's frame f: by kind with a shade by name, by object, or by what has changed (c).
	S.colourOf = function (d, keys, key, kind, f, c) {
		if (key < 0)
			return S.colourBy === "change" && c ? S.changeColour(c.verdict) : S.kindColour(S.LABEL);
		if (!keys.shade)
			keys.shade = keys.names.map(function () { return -1; });
		if (!(keys.shade[key] >= 0))
			keys.shade[key] = hash(keys.names[key]) % SHADES;
		if (S.colourBy === "change" && c)
			return S.changeColour(c.verdict, keys.shade[key]);
		if (S.colourBy !== "object" || f < 0 || kind === S.NOTE)
			return S.kindColour(kind, keys.shade[key]);
		return S.objectColour(S.objectRank(d).get(S.objectOf(d, f)), keys.shade[key]);
	};

	S.Pane = function (host, d, on) {
		this.host = host;
		this.d = d;
		this.on = on;
		this.inner = host.appendChild(document.createElement("div"));
		this.canvas = this.inner.appendChild(document.createElement("canvas"));
		this.ctx = this.canvas.getContext("2d");
		this.tree = null;
		this.zoom = 0;
		this.chosen = -1;
		this.pointed = -1;
		this.hits = null;	// by key, 1: matches
		this.drawn = { boxes: 0, narrow: 0, narrowValue: 0, narrowHits: 0, ms: 0 };
		var pane = this;
		this.height = this.seen = this.skip = 0;
		host.addEventListener("scroll", function () {
			if (host.scrollTop !== pane.drawnTop)
				pane.draw();
		});
		new ResizeObserver(function () {
			if (pane.tree && (host.clientHeight !== pane.seen || host.clientWidth !== pane.width)) {
				pane.resize();
				pane.draw();
				on.resized();
			}
		}).observe(host);
		this.canvas.addEventListener("mousemove", function (ev) {
			var i = pane.at(ev);
			if (i !== pane.pointed) {
				pane.pointed = i;
				pane.draw();
			}
			pane.on.point(pane, i, ev);
		});
		this.canvas.addEventListener("mouseleave", function (ev) {
			pane.pointed = -1;
			pane.draw();
			pane.on.point(pane, -1, ev);
		});
		this.canvas.addEventListener("click", function (ev) {
			var i = pane.at(ev);
			host.focus({ preventScroll: true });
			if (i >= 0)
				pane.on.click(pane, i);
		});
	};
	var P = S.Pane.prototype;

	// up: roots at the foot. skip: so many rows from the root are not shown.
	P.show = function (tree, up, zoom, skip) {
		var fresh = tree !== this.tree || up !== this.up;
		this.tree = tree;
		this.up = up;
		this.skip = skip;
		this.zoom = zoom;
		this.pointed = -1;
		if (fresh)
			this.chosen = -1;
		this.resize();
		if (fresh)
			this.host.scrollTop = up ? this.height : 0;
		if (this.chosen >= 0)
			this.bringIntoSight(this.chosen);
		this.draw();
	};

	// The row at the foot stays where it is, where that is where the roots are.
	P.resize = function () {
		var below = this.height - this.host.scrollTop - this.seen;
		this.row = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10) || 18;
		var rows = this.tree ? this.rowsAbove(this.zoom) - this.skip : 1;
		this.seen = this.host.clientHeight;
		this.inner.style.height = rows * this.row + 2 + "px";
		this.height = Math.max(this.seen, rows * this.row + 2);
		this.width = this.host.clientWidth; // without the scroll bar there may be now
		var ratio = window.devicePixelRatio || 1;
		var w = Math.round(this.width * ratio), h = Math.round(this.seen * ratio);
		if (this.canvas.width !== w || this.canvas.height !== h || !this.font) { // setting either empties the canvas
			this.canvas.width = w;
			this.canvas.height = h;
			this.canvas.style.height = this.seen + "px";
			this.ratio = ratio;
			this.ctx.font = "12px ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";
			this.font = this.ctx.font;
			this.charWidth = this.ctx.measureText("abcdefghijklmnopqrst").width / 20 || 7;
		}
		if (this.up)
			this.host.scrollTop = this.height - this.seen - below;
	};

	// Rows of what is drawn when box z fills the width.
	P.rowsAbove = function (z) {
		var t = this.tree, max = t.depth[z], least = t.value[z] * MIN / Math.max(1, this.host.clientWidth), i = z, end = z + t.size[z];
		while (i < end)
			if (t.value[i] < least)
				i += t.size[i];
			else
				max = Math.max(max, t.depth[i++]);
		return max + 1;
	};

	P.y = function (depth) { // of the row's upper edge, in the whole picture
		depth -= this.skip;
		return this.up ? this.height - (depth + 1) * this.row - 1 : depth * this.row + 1;
	};

	// The box under the mouse; -1: none, or one that is too narrow to be drawn.
	P.at = function (ev) {
		var t = this.tree, r = this.canvas.getBoundingClientRect(), y = ev.clientY - r.top + this.host.scrollTop, z = this.zoom;
		if (!t || !t.value[0])
			return -1;
		var depth = Math.floor(this.up ? (this.height - 1 - y) / this.row : (y - 1) / this.row) + this.skip;
		if (depth < this.skip)
			return -1;
		if (depth <= t.depth[z]) {
			while (t.depth[z] > depth)
				z = t.parent[z];
			return z;
		}
		var x = t.x[z] + (ev.clientX - r.left) / this.width * t.value[z];
		while (t.depth[z] < depth) {
			var end = z + t.size[z], c = z + 1;
			while (c < end && x >= t.x[c] + t.value[c])
				c += t.size[c];
			if (c >= end || t.value[c] * this.width / t.value[this.zoom] < MIN)
				return -1;
			z = c;
		}
		return z;
	};

	P.box = function (i, x, w, above) {
		var t = this.tree, c = this.ctx, y = this.y(t.depth[i]) - this.drawnTop, k = t.key[i], p = PALETTE[S.theme];
		if (y + this.row < 0 || y > this.seen)
			return;
		var hit = this.hits && k >= 0 && this.hits[k];
		c.globalAlpha = above ? 0.6 : 1;
		c.fillStyle = hit ? p.hit : S.colourOf(this.d, t.keys, k, t.kind[i], t.frame[i], this.d.diff && S.change(this.d, t, i));
		c.fillRect(x, y, Math.max(w - (w > 3 ? 0.6 : 0), MIN), this.row - 1);
		if (i === this.chosen || i === this.pointed) {
			c.globalAlpha = 1;
			c.strokeStyle = p.text;
			c.lineWidth = i === this.chosen ? 2 : 1;
			c.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1.5, 1), this.row - 2);
		}
		var room = Math.floor((w - 6) / this.charWidth);
		if (room >= 3) {
			var name = k < 0 ? "all" : t.keys.names[k];
			c.fillStyle = hit ? p.hitText : p.text;
			c.fillText(name.length <= room ? name : name.slice(0, room - 1) + "\u2026", x + 3, y + this.row / 2 + 4);
		}
		c.globalAlpha = 1;
	};

	P.draw = function () {
		var t = this.tree, c = this.ctx, z = this.zoom, began = performance.now(), got = this.drawn = { boxes: 0, narrow: 0, narrowValue: 0, narrowHits: 0, ms: 0 };
		this.drawnTop = this.host.scrollTop;
		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.clearRect(0, 0, this.width, this.seen);
		if (!t || !t.value[0])
			return;
		c.font = this.font;
		for (var a = t.parent[z]; a >= 0 && t.depth[a] >= this.skip; a = t.parent[a]) {
			this.box(a, 0, this.width, true);
			got.boxes++;
		}
		var scale = this.width / t.value[z], least = MIN / scale, x0 = t.x[z], end = z + t.size[z], i = z, run = null, grey = PALETTE[S.theme].narrow, pane = this;
		function flush() {
			if (run && (run.to - run.from) * scale >= MIN) {
				c.fillStyle = grey;
				c.fillRect((run.from - x0) * scale, pane.y(run.depth) - pane.drawnTop, (run.to - run.from) * scale, pane.row - 1);
			}
			run = null;
		}
		while (i < end) {
			if (t.value[i] >= least) {
				this.box(i, (t.x[i] - x0) * scale, t.value[i] * scale, false);
				got.boxes++;
				i++;
				continue;
			}
			got.narrow += t.size[i];
			got.narrowValue += t.value[i];
			if (run && (run.depth !== t.depth[i] || run.to !== t.x[i]))
				flush();
			run = run || { depth: t.depth[i], from: t.x[i], to: 0 };
			run.to = t.x[i] + t.value[i];
			if (this.hits)
				for (var k = i; k < i + t.size[i]; k++)
					got.narrowHits += this.hits[t.key[k]];
			i += t.size[i];
		}
		flush();
		got.ms = performance.now() - began;
	};

	P.choose = function (i) {
		this.chosen = i;
		this.bringIntoSight(i);
		this.draw();
	};
	P.bringIntoSight = function (i) {
		var y = this.y(this.tree.depth[i]), top = this.host.scrollTop;
		if (y < top)
			this.host.scrollTop = y;
		else if (y + this.row > top + this.seen)
			this.host.scrollTop = y + this.row - this.seen;
	};

	// The drawn box next to the chosen one: toward the root, toward the leaf (the widest), to the left or right in its row.
	P.neighbour = function (where) {
		var t = this.tree, i = this.chosen < 0 ? this.zoom : this.chosen, c, best = -1, least = t.value[this.zoom] * MIN / this.width;
		if (this.chosen < 0)
			return i;
		if (where === "root")
			return Math.max(t.parent[i], 0);
		if (where === "leaf") {
			for (c = i + 1; c < i + t.size[i]; c += t.size[c])
				if (t.value[c] >= least && (best < 0 || t.value[c] > t.value[best]))
					best = c;
			return best < 0 ? i : best;
		}
		var from = this.zoom, end = from + t.size[from];
		for (c = where === "right" ? i + t.size[i] : i - 1; c >= from && c < end; c += where === "right" ? 1 : -1)
			if (t.depth[c] === t.depth[i] && t.value[c] >= least)
				return c;
		return i;
	};

	// Where box i is on the page, for tests and the tip: null when it is not in sight.
	P.placeOf = function (i) {
		var t = this.tree, z = this.zoom, r = this.canvas.getBoundingClientRect(), scale = this.width / t.value[z];
		var above = i < z && z < i + t.size[i];
		return { x: r.left + (above ? 0 : (t.x[i] - t.x[z]) * scale), y: r.top + this.y(t.depth[i]) - this.host.scrollTop, w: above ? this.width : t.value[i] * scale, h: this.row - 1 };
	};
})(window.sonde);

// When: a heat map of the samples' slots above the graph, a column a second, a row a slot of it, from the foot up. A range of it is what the page shows.
// In: samples' shares by slot, a range as text "first-last" (slots, both in it). Out: the samples' values in that range, a picture, calls of on.range(text).
// Invariant: the cells add up to what the filters keep; the values of a range are those of its cells. Colours differ in lightness, so that everybody tells them apart.
(function (S) {
	"use strict";
	var LEFT = 46, FOOT = 16, CELLS = 100, LEAST = 2, MOST = 36; // pixels: beside, below and of all rows; a column's width
	var RAMP = {
		light: { none: "#efeee8", steps: [[254, 230, 160], [244, 164, 62], [196, 78, 40], [92, 16, 46]], ink: "#5b5e61", mark: "#0b57d0", veil: "rgba(251, 251, 249, .72)" },
		dark: { none: "#22262b", steps: [[44, 68, 116], [78, 126, 154], [164, 182, 106], [255, 241, 124]], ink: "#a0a5ab", mark: "#f2a6e6", veil: "rgba(22, 24, 27, .72)" }
	};

	// ---- numbers

	S.heatOf = function (j) {
		return { width: j.width, rows: j.rows, n: j.n, start: j.start, outside: Number(j.outside), sample: Int32Array.from(j.sample), slot: Int32Array.from(j.slot),
			value: Float64Array.from(j.value, Number), parts: j.parts.map(function (p) { return Float64Array.from(p, Number); }) };
	};
	// [first, last]; null: the text is no range of this profile
	S.heatRange = function (d, text) {
		var m = d.heat && /^(\d{1,9})-(\d{1,9})$/.exec(text);
		return m && +m[1] <= +m[2] && +m[2] < d.heat.n ? [+m[1], +m[2]] : null;
	};
	function shares(h, part) { return part === "" ? h.value : h.parts[+part] || h.value; }
	// Of each sample what lies in the range
	S.heatValues = function (d, range, part) {
		var h = d.heat, v = shares(h, part), values = new Float64Array(d.sample.node.length);
		for (var i = 0; i < h.slot.length; i++)
			if (h.slot[i] >= range[0] && h.slot[i] <= range[1])
				values[h.sample[i]] += v[i];
		return values;
	};
	// Of each slot what the filters keep
	S.heatCells = function (d, keep, part) {
		var h = d.heat, v = shares(h, part), cells = new Float64Array(h.n);
		for (var i = 0; i < h.slot.length; i++)
			if (keep[h.sample[i]])
				cells[h.slot[i]] += v[i];
		return cells;
	};

	// ---- colours: by the square root, so that one long wait leaves something to see of the others
	var colour = S.heatColour = function (share) {
		var r = RAMP[S.theme], x = Math.sqrt(share) * (r.steps.length - 1), i = Math.min(r.steps.length - 2, Math.floor(x)), f = x - i;
		return share <= 0 ? r.none : "rgb(" + [0, 1, 2].map(function (c) { return Math.round(r.steps[i][c] * (1 - f) + r.steps[i + 1][c] * f); }).join() + ")";
	};

	function seconds(d, slot) { return (slot * d.heat.width / 1e9).toFixed(d.heat.width % 1e9 ? 2 : 0) + " s"; }
	function clock(d, slot) { return d.heat.start ? new Date(d.heat.start + slot * d.heat.width / 1e6).toLocaleTimeString() : ""; }

	S.Heat = function (root, d, on) {
		var find = function (id) { return root.querySelector("#" + id); };
		this.d = d;
		this.on = on;
		this.pane = find("heatpane");
		this.canvas = find("heatmap");
		this.says = find("heatsays");
		this.key = find("heatkey");
		this.all = find("heatall");
		this.columns = Math.ceil(d.heat.n / d.heat.rows);
		this.cells = null;
		this.range = null;
		this.begin = -1;   // the first cell has been chosen
		this.pointed = -1; // cell under the pointer or the keys
		this.held = -1;	   // where the button went down
		this.base = null;  // the picture without marks
		root.hidden = false;
		this.listen();
	};
	var H = S.Heat.prototype;

	H.show = function (cells, range) {
		this.base = this.cells === cells && this.theme === S.theme ? this.base : null;
		this.cells = cells;
		this.theme = S.theme;
		this.range = range;
		this.all.disabled = !range && this.begin < 0;
		this.draw();
		this.say();
	};

	// ---- the picture

	H.measure = function () {
		var room = this.pane.clientWidth - LEFT - 2;
		this.w = Math.max(LEAST, Math.min(MOST, room / this.columns));
		this.h = CELLS / this.d.heat.rows;
		this.width = Math.ceil(LEFT + this.w * this.columns + 2);
		this.height = CELLS + FOOT;
	};
	H.placeOf = function (slot) { // on the canvas
		var rows = this.d.heat.rows;
		return { x: LEFT + Math.floor(slot / rows) * this.w, y: CELLS - (slot % rows + 1) * this.h, w: this.w, h: this.h };
	};
	H.slotAt = function (x, y) {
		var rows = this.d.heat.rows, c = Math.floor((x - LEFT) / this.w), r = Math.floor((CELLS - y) / this.h), slot = c * rows + r;
		return c >= 0 && r >= 0 && r < rows && slot < this.d.heat.n ? slot : -1;
	};

	H.scale = function (canvas) {
		var by = window.devicePixelRatio || 1, g;
		canvas.width = Math.round(this.width * by);
		canvas.height = Math.round(this.height * by);
		g = canvas.getContext("2d");
		g.scale(by, by);
		return g;
	};

	H.paint = function () {
		var g, d = this.d, most = 0, i, p, gap = this.w >= 6 ? 1 : 0, span = d.heat.rows * d.heat.width / 1e9, every = 1;
		this.base = document.createElement("canvas");
		g = this.scale(this.base);
		for (i = 0; i < d.heat.n; i++)
			most = Math.max(most, this.cells[i]);
		this.most = most;
		for (i = 0; i < d.heat.n; i++) {
			p = this.placeOf(i);
			g.fillStyle = colour(most ? this.cells[i] / most : 0);
			g.fillRect(p.x, p.y, p.w - gap, p.h);
		}
		g.fillStyle = RAMP[S.theme].ink;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "top";
		while (every * this.w < 48)
			every *= every.toString()[0] === "2" ? 2.5 : 2; // 1 2 5 10
		for (i = 0; i < this.columns; i += every)
			g.fillText(+(i * span).toFixed(3) + (i ? "" : " s"), LEFT + i * this.w, CELLS + 3);
		g.textAlign = "right";
		g.fillText("0 ms", LEFT - 5, CELLS - 11);
		g.fillText(+(span * 500).toFixed(1), LEFT - 5, CELLS / 2 - 6);
		g.fillText(+(span * 1000).toFixed(1), LEFT - 5, 0);
		this.legend();
	};

	H.marked = function () { // what is chosen, or would be
		var end = this.held >= 0 || this.begin >= 0 ? this.pointed : -1, from = this.held >= 0 ? this.held : this.begin;
		return from < 0 ? this.range : end < 0 ? [from, from] : [Math.min(from, end), Math.max(from, end)];
	};

	H.draw = function () {
		var g, range = this.marked(), rows = this.d.heat.rows, c, first, last, p, q, r = RAMP[S.theme];
		this.measure();
		if (!this.base || this.base.measured !== this.width + "x" + window.devicePixelRatio) {
			this.paint();
			this.base.measured = this.width + "x" + window.devicePixelRatio;
		}
		this.canvas.style.width = this.width + "px";
		this.canvas.style.height = this.height + "px";
		g = this.scale(this.canvas);
		g.drawImage(this.base, 0, 0, this.width, this.height);
		if (range) {
			g.fillStyle = r.veil;
			for (c = 0; c < this.columns; c++) { // what is not in the range
				first = Math.max(range[0], c * rows);
				last = Math.min(range[1], c * rows + rows - 1);
				if (first > last) {
					g.fillRect(LEFT + c * this.w, 0, this.w, CELLS);
					continue;
				}
				p = this.placeOf(first);
				q = this.placeOf(last);
				g.fillRect(p.x, 0, p.w, q.y);
				g.fillRect(p.x, p.y + p.h, p.w, CELLS - p.y - p.h);
			}
			g.fillStyle = r.mark;
			p = this.placeOf(range[0]);
			q = this.placeOf(range[1]);
			g.fillRect(p.x, p.y + p.h - 1, p.w, 2);
			g.fillRect(q.x, q.y - 1, q.w, 2);
		}
		if (this.pointed >= 0) {
			p = this.placeOf(this.pointed);
			g.strokeStyle = r.mark;
			g.lineWidth = 1.5;
			g.strokeRect(p.x - 1, p.y - 1, p.w + 1, p.h + 2);
		}
	};

	H.legend = function () {
		var ramp = document.createElement("i"), stops = [0.001, 0.05, 0.11, 0.25, 0.45, 0.7, 1].map(function (x) { return colour(x) + " " + Math.round(Math.sqrt(x) * 100) + "%"; });
		ramp.style.background = "linear-gradient(to right, " + stops.join() + ")";
		this.key.replaceChildren("0", ramp, S.amount(this.d, this.most) + " a cell");
	};

	// ---- words

	H.sum = function (range) {
		var sum = 0;
		for (var i = range[0]; i <= range[1]; i++)
			sum += this.cells[i];
		return sum;
	};
	H.say = function () {
		var d = this.d, range = this.marked(), all = [0, d.heat.n - 1], text, at = this.pointed;
		if (range)
			text = seconds(d, range[0]) + " to " + seconds(d, range[1] + 1) + (d.heat.start ? " (from " + clock(d, range[0]) + ")" : "") + ": " + S.amount(d, this.sum(range)) + " of " + S.amount(d, this.sum(all)) +
				(this.begin >= 0 ? ". Now the last cell." : "");
		else if (at >= 0)
			text = seconds(d, at) + (d.heat.start ? " (" + clock(d, at) + ")" : "") + ": " + S.amount(d, this.cells[at]);
		else
			text = "Click the first and the last cell of a time, or drag." + (d.heat.outside ? " " + S.amount(d, d.heat.outside) + " are beyond it." : "");
		this.says.textContent = text;
	};

	// ---- choosing

	H.point = function (slot) {
		if (slot === this.pointed)
			return;
		this.pointed = slot;
		this.draw();
		this.say();
	};
	H.choose = function (slot) {
		var from = this.begin;
		if (slot < 0)
			return;
		if (from < 0) {
			this.begin = this.pointed = slot;
			this.all.disabled = false;
			this.draw();
			this.say();
			return;
		}
		this.begin = -1;
		this.set(from, slot);
	};
	H.set = function (a, b) {
		this.pointed = -1;
		this.on.range(Math.min(a, b) + "-" + Math.max(a, b));
	};
	// false: there was nothing to leave
	H.leave = function () {
		var had = this.begin >= 0, shown = !!this.range;
		this.begin = this.held = this.pointed = -1;
		if (had)
			this.show(this.cells, this.range);
		else if (shown)
			this.on.range("");
		return had || shown;
	};

	H.keydown = function (key) {
		var rows = this.d.heat.rows, n = this.d.heat.n, at = this.pointed >= 0 ? this.pointed : this.range ? this.range[0] : 0;
		var by = { ArrowUp: 1, ArrowDown: -1, ArrowRight: rows, ArrowLeft: -rows, PageUp: -10 * rows, PageDown: 10 * rows, Home: -n, End: n }[key];
		if (by)
			this.point(this.pointed < 0 && key !== "End" ? at : Math.max(0, Math.min(n - 1, at + by)));
		else if (key === "Enter" || key === " ")
			this.choose(at);
		else if (key === "Escape")
			return this.leave();
		var p = this.pointed >= 0 ? this.placeOf(this.pointed) : null;
		if (p && (p.x < this.pane.scrollLeft + LEFT || p.x + p.w > this.pane.scrollLeft + this.pane.clientWidth))
			this.pane.scrollLeft = p.x - this.pane.clientWidth / 2;
		return !!by || key === "Enter" || key === " ";
	};

	H.listen = function () {
		var self = this, canvas = this.canvas, dragged = false;
		var at = function (ev) {
			var r = canvas.getBoundingClientRect();
			return self.slotAt(ev.clientX - r.left, ev.clientY - r.top);
		};
		canvas.addEventListener("pointerdown", function (ev) {
			dragged = false;
			if (ev.pointerType === "mouse" && ev.button === 0 && self.begin < 0)
				self.held = at(ev);
		});
		canvas.addEventListener("pointermove", function (ev) {
			var slot = at(ev);
			if (ev.pointerType === "touch" || (self.held >= 0 && slot < 0))
				return;
			if (self.held >= 0 && !(ev.buttons & 1)) // let go somewhere else
				self.held = -1;
			dragged = dragged || (self.held >= 0 && slot !== self.held);
			self.point(slot);
		});
		canvas.addEventListener("pointerleave", function () { if (self.held < 0) self.point(-1); });
		canvas.addEventListener("pointerup", function (ev) {
			var from = self.held;
			self.held = -1;
			if (dragged && from >= 0)
				self.set(from, self.pointed >= 0 ? self.pointed : from);
		});
		canvas.addEventListener("click", function (ev) {
			if (!dragged)
				self.choose(at(ev));
			dragged = false;
		});
		canvas.addEventListener("keydown", function (ev) {
			if (!ev.ctrlKey && !ev.metaKey && !ev.altKey && self.keydown(ev.key)) {
				ev.preventDefault();
				ev.stopPropagation();
			}
		});
		canvas.addEventListener("blur", function () { if (self.begin < 0) self.point(-1); });
		this.all.addEventListener("click", function () { while (self.leave()) ; });
		new ResizeObserver(function () { self.base = null; if (self.cells) self.draw(); }).observe(this.pane);
	};
})(window.sonde);

// The table of functions: only the rows in sight are elements of the document.
// In: what S.functions() counted, which keys match a search. Out: rows in the order asked for, calls of `on` functions.
// Invariant: each function of the view is a row, also those of share 0.00 %.
(function (S) {
	"use strict";
	var ROW = 24;

	S.Table = function (rows, space, columns, d, on) {
		var table = this;
		this.rows = rows;
		this.space = space;
		this.columns = columns;
		this.d = d;
		this.on = on;
		this.list = [];
		this.chosen = -1;
		this.sort = "self";
		rows.addEventListener("scroll", function () { table.draw(); });
		rows.addEventListener("click", function (ev) {
			var el = ev.target.closest(".row");
			if (el) {
				table.choose(+el.dataset.at);
				rows.focus({ preventScroll: true });
			}
		});
		rows.addEventListener("dblclick", function () { table.open(); });
		columns.addEventListener("click", function (ev) {
			var by = ev.target.dataset.sort;
			if (by)
				on.sort(table.sort === by ? "-" + by : by);
		});
	};
	var T = S.Table.prototype;

	// sort: "self", "total", "name", "object"; with "-" the other way round.
	// changes: of two profiles (page_compare.js), else null.
	T.show = function (tree, functions, sort, hits, onlyHits, changes) {
		var by = sort.replace(/^-/, ""), keys = tree.keys, d = this.d, chosenKey = this.list[this.chosen];
		var object = function (k) { return keys.mixed[k] ? "several objects" : S.objectOf(d, keys.frame[k]); };
		var rank = keys.rank(), text = by === "object" ? keys.names.map(function (_, k) { return object(k); }) : null, turn = sort[0] === "-" ? -1 : 1;
		this.tree = tree;
		this.f = functions;
		this.changes = changes;
		this.sort = sort;
		this.hits = hits;
		this.list = functions.list.filter(function (k) { return !onlyHits || (hits && hits[k]); });
		this.list.sort(function (a, b) {
			var c = by === "name" ? rank[a] - rank[b] : by === "object" ? (text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : 0) : changes ? S.byChange(changes[by][a], changes[by][b]) : functions[by][b] - functions[by][a];
			return turn * c || functions.total[b] - functions.total[a] || rank[a] - rank[b];
		});
		this.object = object;
		this.chosen = this.list.indexOf(chosenKey);
		this.space.style.height = this.list.length * ROW + "px";
		this.columns.querySelectorAll("button").forEach(function (b) {
			if (b.dataset.sort === by)
				b.setAttribute("aria-sort", (by === "name" || by === "object") === (turn === 1) ? "ascending" : "descending");
			else
				b.removeAttribute("aria-sort");
			b.textContent = b.textContent.replace(/ [\u25b2\u25bc]$/, "") + (b.dataset.sort === by ? ((by === "name" || by === "object") === (turn === 1) ? " \u25b2" : " \u25bc") : "");
		});
		this.draw();
	};

	function number(d, v, all) {
		var span = document.createElement("span"), bar = document.createElement("i"), amount = document.createElement("span");
		span.className = "num";
		bar.style.width = (all ? 100 * v / all : 0) + "%";
		amount.className = "amount";
		amount.textContent = " \u00b7 " + S.short(d, v);
		span.title = S.amount(d, v);
		span.append(bar, S.percent(v, all), amount);
		return span;
	}

	function change(d, c) {
		var span = document.createElement("span"), mark = document.createElement("b"), range = document.createElement("span");
		span.className = "num change " + S.CHANGES[c.verdict];
		mark.textContent = S.signed(c.diff) + (c.verdict ? " " + S.VERDICTS[c.verdict] : "");
		range.className = "amount";
		range.textContent = " \u00b7 " + (100 * c.before).toFixed(2) + " \u2192 " + (100 * c.after).toFixed(2) + (d.diff.counts ? " (" + S.rangeText(c) + ")" : "");
		span.title = S.changeText(d, c);
		span.append(mark, range);
		return span;
	}

	T.draw = function () {
		var first = Math.max(0, Math.floor(this.rows.scrollTop / ROW) - 4), last = Math.min(this.list.length, first + Math.ceil(this.rows.clientHeight / ROW) + 9);
		var parts = document.createDocumentFragment();
		for (var i = first; i < last; i++) {
			var k = this.list[i], row = document.createElement("div"), name = document.createElement("span"), object = document.createElement("span");
			row.className = "row" + (this.hits && this.hits[k] ? " hit" : "");
			row.dataset.at = i;
			row.style.top = i * ROW + "px";
			row.setAttribute("role", "row");
			row.setAttribute("aria-selected", i === this.chosen);
			name.className = "name";
			name.textContent = this.tree.keys.names[k].slice(0, 2000);
			object.className = "object";
			object.textContent = this.object(k);
			object.title = object.textContent;
			if (this.changes)
				row.append(change(this.d, this.changes.self[k]), change(this.d, this.changes.total[k]), name, object);
			else
				row.append(number(this.d, this.f.self[k], this.f.all), number(this.d, this.f.total[k], this.f.all), name, object);
			parts.append(row);
		}
		this.space.replaceChildren(parts);
	};

	T.choose = function (at) {
		if (at < 0 || at >= this.list.length)
			return;
		this.chosen = at;
		if (at * ROW < this.rows.scrollTop)
			this.rows.scrollTop = at * ROW;
		else if ((at + 1) * ROW > this.rows.scrollTop + this.rows.clientHeight)
			this.rows.scrollTop = (at + 1) * ROW - this.rows.clientHeight;
		this.draw();
		this.on.choose(this.list[at]);
	};
	T.open = function () {
		if (this.chosen >= 0)
			this.on.open(this.list[this.chosen]);
	};
	// A key the table has use for: true.
	T.keydown = function (key) {
		var page = Math.max(1, Math.floor(this.rows.clientHeight / ROW) - 1);
		var by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.list.length, End: this.list.length }[key];
		if (by)
			this.choose(Math.min(Math.max(this.chosen + by, 0), this.list.length - 1));
		else if (key === "Enter")
			this.open();
		else
			return false;
		return true;
	};
})(window.sonde);

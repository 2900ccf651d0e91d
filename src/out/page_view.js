// What is looked at: the state of the view, its form in the page's address, and the trees that follow from it, each made once.
// In: the profile, the address. Out: trees, matches of the search. Invariant: the same address shows the same view of the same file.
(function (S) {
	"use strict";
	var FIRST = { view: "flame", dir: "up", merge: "function", colour: "kind", q: "", regex: "", z: "", z2: "", fn: "", sort: "self", group: "process", part: "", language: "", t: "", theme: "" };
	var ALLOWED = { view: ["flame", "callers", "sandwich", "table"], dir: ["up", "down"], merge: ["function", "line", "object"], colour: ["kind", "object", "change"], theme: ["light", "dark"] };

	S.View = function (d) {
		this.d = d;
		this.filters = d.dimensions.map(function (x) { return x.id; }).concat("language", "part");
		this.first = Object.assign({}, FIRST, { group: d.group }, d.diff ? { colour: "change" } : {});
		d.dimensions.forEach(function (x) { this.first["only-" + x.id] = ""; }, this);
		this.state = Object.assign({}, this.first);
		this.cache = {};
		this.keys = {};
	};
	var V = S.View.prototype;

	V.read = function (hash) {
		var got = Object.assign({}, this.first);
		new URLSearchParams(hash.replace(/^#/, "")).forEach(function (v, k) {
			if (k in got && (!ALLOWED[k] || ALLOWED[k].indexOf(v) >= 0))
				got[k] = v;
		});
		if (got.colour === "change" && !this.d.diff)
			got.colour = "kind";
		if (got.merge === "line" && !this.d.hasLines)
			got.merge = "function";
		if (!S.heatRange(this.d, got.t))
			got.t = "";
		this.state = got;
	};
	V.write = function () {
		var p = new URLSearchParams(), s = this.state, first = this.first;
		Object.keys(first).forEach(function (k) {
			if (s[k] !== first[k])
				p.set(k, s[k]);
		});
		return "#" + p.toString();
	};

	// The dimension's value that is asked for is its number: names may be anything.
	V.kept = function () {
		var d = this.d, s = this.state, n = d.sample.node.length, keep = new Uint8Array(n).fill(1), i;
		d.dimensions.forEach(function (x) {
			var want = s["only-" + x.id];
			if (want !== "")
				for (i = 0; i < n; i++)
					keep[i] &= x.of[i] === +want;
		});
		if (s.language !== "")
			for (i = 0; i < n; i++)
				keep[i] &= d.languageBits[d.sample.node[i]] >> +s.language & 1;
		return keep;
	};
	V.values = function () {
		if (this.state.t !== "")
			return this.once("times", ["part", "t"], function () { return S.heatValues(this.d, S.heatRange(this.d, this.state.t), this.state.part); });
		var p = this.state.part === "" ? null : this.d.parts[+this.state.part];
		return p ? p.value : this.d.sample.value;
	};
	V.filtered = function () {
		var s = this.state;
		return s.language !== "" || s.part !== "" || s.t !== "" || this.d.dimensions.some(function (x) { return s["only-" + x.id] !== ""; });
	};

	V.once = function (name, depends, make) {
		var s = this.state, id = depends.map(function (k) { return s[k]; }).join("\u0000"), have = this.cache[name];
		if (!have || have.id !== id)
			have = this.cache[name] = { id: id, made: make.call(this) };
		return have.made;
	};
	V.depends = function () {
		return ["merge", "group", "language", "part", "t"].concat(this.d.dimensions.map(function (x) { return "only-" + x.id; }));
	};
	V.heat = function () { // of each slot, what the other filters keep
		return this.once("heat", this.depends().filter(function (k) { return k !== "t" && k !== "merge" && k !== "group"; }), function () {
			return S.heatCells(this.d, this.kept(), this.state.part);
		});
	};
	V.keysNow = function () {
		var m = this.state.merge;
		if (!this.keys[m])
			this.keys[m] = new S.Keys(this.d, m);
		return this.keys[m];
	};
	V.forward = function () {
		return this.once("forward", this.depends(), function () {
			var s = this.state, group = this.d.dimensions.find(function (x) { return x.id === s.group; }) || null;
			return S.forward(this.d, this.keysNow(), this.kept(), this.values(), group);
		});
	};
	V.reversed = function () {
		return this.once("reversed", this.depends(), function () { return S.reversed(this.d, this.forward()); });
	};
	V.fn = function () { // key of the function in the sandwich; the one with the largest self value unless one is chosen
		var t = this.forward(), k = parseInt(this.state.fn, 10);
		if (k >= 0 && k < t.keys.names.length)
			return k;
		var f = this.functions();
		return f.list.reduce(function (best, x) { return best < 0 || f.self[x] > f.self[best] ? x : best; }, -1);
	};
	V.sandwich = function () {
		var key = this.fn();
		return this.once("sandwich", this.depends().concat("fn"), function () { return S.sandwich(this.d, this.forward(), key); });
	};
	V.functions = function () {
		return this.once("functions", this.depends().concat("view", "z"), function () {
			var t = this.forward();
			return S.functions(t, this.state.view === "flame" || this.state.view === "table" ? S.boxAt(t, this.state.z) : 0);
		});
	};
	V.changes = function () { // of functions; null: this is one profile
		return !this.d.diff ? null : this.once("changes", this.depends().concat("view", "z"), function () { return S.changesOf(this.d, this.forward(), this.functions()); });
	};
	V.tree = function () {
		return this.state.view === "callers" ? this.reversed() : this.state.view === "sandwich" ? this.sandwich().callers : this.forward();
	};

	// ---- search: text without regard to case, or a regular expression. { hits by key, error }
	S.matcher = function (q, regex) {
		if (regex)
			return new RegExp(q, "i");
		return new RegExp(q.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
	};
	V.hits = function (t) {
		var q = this.state.q, names = t.keys.names, hits = new Uint8Array(names.length), re;
		if (!q)
			return null;
		try {
			re = S.matcher(q, this.state.regex);
		} catch (e) {
			return { error: e.message };
		}
		for (var k = 0; k < names.length; k++)
			hits[k] = re.test(names[k]) ? 1 : 0;
		return { hits: hits };
	};
	// Boxes that match within box z, and the value of those that are in no other match.
	S.matched = function (t, z, hits) {
		var sum = 0, boxes = 0, covered = -1;
		for (var i = z; i < z + t.size[z]; i++) {
			if (t.key[i] < 0 || !hits[t.key[i]])
				continue;
			boxes++;
			if (i >= covered) {
				sum += t.value[i];
				covered = i + t.size[i];
			}
		}
		return { boxes: boxes, value: sum };
	};
})(window.sonde);

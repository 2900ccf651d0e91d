// The page: what is pressed, clicked and typed becomes state (page_view.js); each change of state shows everything anew.
// In: events. Out: the document. Invariant: texts of the profile are set as text, never read as markup.
(function (S) {
	"use strict";
	var $ = function (id) { return document.getElementById(id); };
	var began = performance.now();
	var d = S.data = S.load($("data").textContent), view = S.view = new S.View(d), state, heat = null;
	var panes = S.panes = [], table, current = null; // current: { tree, box, pane } or { key }
	var KEYS = [["1 2 3 4", "flame graph, callers, sandwich, table"], ["\u2190 \u2191 \u2192 \u2193", "the next box, the next row of the table"], ["Enter, click", "zoom into a box; a table's row: sandwich"],
		["Esc, Backspace", "search off; back to the whole width"], ["/ or Ctrl-F", "search; Alt-R: by regular expression"], ["n N", "next match, match before"], ["s", "sandwich of the chosen function"],
		["c", "copy the chosen stack as text"], ["i", "flame graph or icicle: roots at the foot or at the top"], ["m", "merge by function, line, object"], ["f", "filter"], ["d", "dark or light"], ["?", "this"]];

	// ---- state

	function theme() {
		return state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
	}

	// push: the browser's back button returns to what was before.
	function set(change, push) {
		Object.assign(state, change);
		try {
			history[push ? "pushState" : "replaceState"](null, "", view.write());
		} catch (e) { // a page without an address of its own
		}
		show();
	}

	function treeChanges(change) { // boxes are other ones then
		set(Object.assign({ z: "", z2: "" }, change), true);
	}

	// ---- showing

	function show() {
		state = view.state;
		document.documentElement.dataset.theme = S.theme = theme();
		S.colourBy = state.colour;
		controls();
		if (heat)
			heat.show(view.heat(), S.heatRange(d, state.t));
		$("graph").hidden = state.view === "table";
		$("callees").hidden = state.view !== "sandwich";
		$("list").hidden = state.view !== "table";
		if (state.view === "table")
			showTable();
		else
			showPanes();
		showFound();
		showDetails();
		legend();
	}

	function showPanes() {
		var both = state.view === "sandwich", up = state.dir === "up", key = both ? view.fn() : -1;
		var trees = both ? [view.sandwich().callers, view.sandwich().callees] : [view.tree()];
		$("grapht").textContent = both ? "Who calls " + (key < 0 ? "" : view.keysNow().names[key].slice(0, 300)) : "";
		trees.forEach(function (t, i) {
			var found = view.hits(t);
			panes[i].hits = found && found.hits || null;
			panes[i].show(t, both ? i === 0 : up, S.boxAt(t, i ? state.z2 : state.z) || (both && t.n > 1 ? 1 : 0), both && t.n > 1 ? 1 : 0);
		});
		if (current && (current.key !== undefined || trees.indexOf(current.tree) < 0))
			current = null;
	}

	function showTable() {
		var t = view.forward(), found = view.hits(t);
		table.show(t, view.functions(), state.sort, found && found.hits || null, !!(found && found.hits), view.changes());
		if (current && (current.tree || current.keys !== t.keys))
			current = null;
	}

	function panesShown() { return state.view === "table" ? [] : state.view === "sandwich" ? panes : [panes[0]]; }

	// What matches in box z of tree t, and what of that is too narrow to draw.
	function foundText(t, z, hits, hidden, where) {
		var m = S.matched(t, z, hits);
		if (!m.boxes)
			return "";
		return S.grouped(m.boxes) + (m.boxes === 1 ? " box" : " boxes") + where + (m.boxes === 1 ? " matches: " : " match: ") + S.percent(m.value, t.value[z]) + " of what is shown (" + S.amount(d, m.value) + ")" +
			(hidden ? "; " + S.grouped(hidden) + " of them too narrow to draw" : "");
	}

	function showFound() {
		var t = view.forward(), found = view.hits(t), status = [], texts = [];
		if (found && found.error)
			texts = [found.error];
		else if (found && state.view === "table")
			texts = [foundText(t, S.boxAt(t, state.z), found.hits, 0, "")];
		else if (found)
			texts = panesShown().map(function (p, i) { return foundText(p.tree, p.zoom, found.hits, p.drawn.narrowHits, state.view !== "sandwich" ? "" : i ? " of what it calls" : " of its callers"); });
		$("found").textContent = !found ? "" : texts.filter(Boolean).join(" \u00b7 ") || "No match";
		if (state.view === "table")
			status.push(S.grouped(table.list.length) + (state.q ? " matching" : "") + (state.merge === "object" ? " objects" : state.merge === "line" ? " lines" : " functions"));
		else {
			var seen = panesShown(), sum = function (of) { return seen.reduce(function (a, p) { return a + of(p); }, 0); };
			var narrow = sum(function (p) { return p.drawn.narrow; }), least = Math.max.apply(null, seen.map(function (p) { return p.drawn.narrowValue / (p.tree.value[p.zoom] || 1); }));
			status.push(S.grouped(sum(function (p) { return p.tree.n - 1 - p.skip; })) + " boxes");
			if (narrow)
				status.push(S.grouped(narrow) + " of them (" + S.percent(least, 1) + ") are too narrow to draw: grey; zoom in");
		}
		if (view.filtered())
			status.unshift("filtered: " + S.amount(d, view.forward().value[0]) + " of " + S.amount(d, d.total));
		$("status").textContent = status.join(" \u00b7 ");
	}

	function showDetails() {
		var c = current, t = c && c.tree, box = t ? c.box : -1, key = t ? t.key[box] : c ? c.key : -1, keys = c ? (t ? t.keys : c.keys) : null, f = t ? t.frame[box] : key >= 0 ? keys.frame[key] : -1,
			mixed = t ? t.mixed[box] : key >= 0 && keys.mixed[key] ? S.OBJECTS | S.LINES : S.LINES, place = [], value = [];
		var zoomed = state.z !== "" || state.z2 !== "";
		$("dozoom").disabled = !t;
		$("docopy").disabled = !t || box <= 0;
		$("dosandwich").disabled = f < 0;
		$("reset").disabled = !zoomed;
		var changed = !c || !d.diff ? null : t ? S.change(d, t, box) : view.changes().total[key];
		$("swatch").style.background = c ? S.colourOf(d, keys, key, t ? t.kind[box] : c.kind, f, changed) : "transparent";
		$("dname").textContent = !c ? (d.total ? "Point at a box, or press an arrow key." : "No samples.") : key < 0 ? "all" : keys.names[key];
		if (f >= 0) {
			var object = mixed & S.OBJECTS ? "several objects" : S.objectOf(d, f), file = mixed & S.LINES ? "" : d.strings[d.frame.file[f]];
			place = [S.KINDS[t ? t.kind[box] : c.kind], object, file ? file + ":" + d.frame.line[f] : "", mixed & S.OBJECTS ? "" : d.languageNames[d.frame.language[f]]].filter(Boolean);
		} else if (key >= 0)
			place = [state.group.replace(/^label-/, "")];
		$("dplace").textContent = place.join(" \u00b7 ");
		if (changed)
			value.push((t ? "" : "total ") + S.changeText(d, changed), t ? "" : "self " + S.changeText(d, view.changes().self[key]));
		else if (t) {
			value.push(S.amount(d, t.value[box]) + ", " + S.percent(t.value[box], t.value[0]));
			if (c.pane.zoom > 0 && box >= c.pane.zoom)
				value.push(S.percent(t.value[box], t.value[c.pane.zoom]) + " of the zoomed box");
			if (t.self[box] && state.view === "flame")
				value.push("self " + S.amount(d, t.self[box]) + ", " + S.percent(t.self[box], t.value[0]));
		} else if (c) {
			var fs = view.functions();
			value.push("total " + S.amount(d, fs.total[key]) + ", " + S.percent(fs.total[key], fs.all), "self " + S.amount(d, fs.self[key]) + ", " + S.percent(fs.self[key], fs.all));
		}
		$("dvalue").textContent = value.filter(Boolean).join(" \u00b7 ");
	}

	function legend() {
		var rows = state.colour === "kind" ? S.KINDS.map(function (name, k) { return d.kinds[k] && k !== S.LABEL ? [name, S.kindColour(k)] : null; }) :
			state.colour === "change" ? S.VERDICTS.map(function (name, v) { return [name, S.changeColour(v)]; }) : S.objectLegend(d);
		$("key").replaceChildren.apply($("key"), rows.filter(Boolean).map(function (row) {
			var span = document.createElement("span"), box = document.createElement("i");
			box.style.background = row[1];
			span.append(box, row[0]);
			return span;
		}));
	}

	function controls() {
		document.querySelectorAll("#views button").forEach(function (b) { b.setAttribute("aria-pressed", b.dataset.view === state.view); });
		$("dir").textContent = state.dir === "up" ? "Icicle" : "Flame";
		$("dir").disabled = state.view === "sandwich" || state.view === "table";
		$("merge").value = state.merge;
		$("colour").value = state.colour;
		$("regex").setAttribute("aria-pressed", !!state.regex);
		if ($("q").value !== state.q)
			$("q").value = state.q;
		$("filters").querySelectorAll("select").forEach(function (s) { s.value = state[s.dataset.state]; });
	}

	// ---- filters

	function addSelect(title, key, options) {
		var label = document.createElement("label"), select = document.createElement("select");
		select.dataset.state = key;
		options.forEach(function (o) { select.add(new Option(o[1], o[0])); });
		select.addEventListener("change", function () {
			var change = {};
			change[key] = select.value;
			treeChanges(change);
		});
		label.append(title + " ", select);
		$("filters").append(label);
	}

	function byShare(names, shareOf) {
		var share = names.map(function (_, i) { return shareOf(i); });
		return names.map(function (_, i) { return i; }).filter(function (i) { return names[i] && share[i] > 0; }).sort(function (a, b) { return share[b] - share[a]; })
			.map(function (i) { return [String(i), names[i].slice(0, 120) + ", " + S.percent(share[i], d.total)]; });
	}

	function makeFilters() {
		var groups = [["", "nothing"]];
		d.dimensions.forEach(function (x) {
			var share = new Float64Array(x.names.length);
			for (var i = 0; i < x.of.length; i++)
				share[x.of[i]] += d.sample.value[i];
			var options = byShare(x.names, function (i) { return share[i]; });
			if (options.length > 1)
				addSelect(x.title, "only-" + x.id, [["", "all"]].concat(options));
			if (options.length)
				groups.push([x.id, x.title.toLowerCase()]);
		});
		var share = new Float64Array(d.languageNames.length);
		for (var i = 0; i < d.sample.node.length; i++)
			for (var l = 0; l < share.length; l++)
				share[l] += d.languageBits[d.sample.node[i]] >> l & 1 ? d.sample.value[i] : 0;
		var spoken = byShare(d.languageNames, function (i) { return share[i]; });
		if (spoken.length > 1)
			addSelect("Stacks with a frame of", "language", [["", "any language"]].concat(spoken));
		if (d.parts.length > 1)
			addSelect(d.diff ? "Width" : "Count", "part", [["", d.diff ? "before and after" : "all"]].concat(d.parts.map(function (p, i) { return [String(i), p.name]; })));
		addSelect("First row by", "group", groups);
	}

	// ---- acts

	function makeCurrent(pane, box) {
		current = { tree: pane.tree, box: box, pane: pane };
		panes.forEach(function (p) {
			if (p !== pane && p.chosen >= 0) {
				p.chosen = -1;
				p.draw();
			}
		});
	}
	function choose(pane, box) {
		makeCurrent(pane, box);
		pane.choose(box);
		showDetails();
	}

	function zoom(pane, box) {
		var change = {};
		change[pane === panes[1] ? "z2" : "z"] = S.pathOf(pane.tree, box);
		makeCurrent(pane, box);
		pane.chosen = box;
		set(change, true);
	}

	function unzoom() {
		set({ z: "", z2: "" }, true);
	}

	function sandwich(key) {
		if (key >= 0 && view.keysNow().frame[key] >= 0)
			treeChanges({ view: "sandwich", fn: String(key) });
	}

	function currentKey() {
		return !current ? -1 : current.tree ? current.tree.key[current.box] : current.key;
	}

	function copied(text) {
		$("status").textContent = "Copied " + (text.split("\n").length - 2) + " frames.";
	}
	function copyOldWay(text) {
		var box = $("copybox"), focus = document.activeElement;
		box.value = text;
		box.select();
		document.execCommand("copy");
		focus.focus();
		copied(text);
	}
	function copy() {
		if (!current || !current.tree || current.box <= 0)
			return;
		var text = S.stackText(d, current.tree, current.box, current.pane === panes[0] && state.view !== "flame");
		if (navigator.clipboard)
			navigator.clipboard.writeText(text).then(function () { copied(text); }, function () { copyOldWay(text); });
		else
			copyOldWay(text);
	}

	// The match next to box `from` of pane p that is drawn; -1: none.
	function matchFrom(p, from, by) {
		var t = p.tree, z = p.zoom, end = z + t.size[z], least = t.value[z] * 0.5 / p.width;
		for (var i = from < z || from >= end ? (by > 0 ? z : end - 1) : from + by; i >= z && i < end; i += by)
			if (t.key[i] >= 0 && p.hits[t.key[i]] && t.value[i] >= least)
				return i;
		return -1;
	}
	function nextMatch(by) {
		if (state.view === "table")
			return table.keydown(by > 0 ? "ArrowDown" : "ArrowUp");
		var seen = panesShown(), at = current && current.pane ? Math.max(0, seen.indexOf(current.pane)) : 0;
		for (var n = 0; n <= seen.length && seen[0].hits; n++) { // the pane that one is in twice: what is before
			var p = seen[(at + by * n + 2 * seen.length) % seen.length], i = matchFrom(p, n ? -1 : p.chosen, by);
			if (i >= 0)
				return choose(p, i);
		}
	}

	function cycle(id) {
		var options = Array.prototype.filter.call($(id).options, function (o) { return !o.disabled; }), at = options.findIndex(function (o) { return o.value === $(id).value; });
		return options[(at + 1) % options.length].value;
	}

	function toggleFilters() {
		$("filters").hidden = !$("filters").hidden;
		$("filterbutton").setAttribute("aria-expanded", !$("filters").hidden);
		if (!$("filters").hidden)
			$("filters").querySelector("select").focus();
	}

	function arrows(pane, key) {
		var down = pane.up ? { ArrowUp: "leaf", ArrowDown: "root" } : { ArrowUp: "root", ArrowDown: "leaf" };
		var where = down[key] || { ArrowLeft: "left", ArrowRight: "right" }[key];
		if (where)
			choose(pane, pane.neighbour(where));
		else if (key === "Enter" && pane.chosen >= 0)
			zoom(pane, pane.chosen);
		return !!where || key === "Enter";
	}

	var PRESSED = {
		"1": function () { treeChanges({ view: "flame" }); }, "2": function () { treeChanges({ view: "callers" }); },
		"3": function () { treeChanges({ view: "sandwich" }); }, "4": function () { set({ view: "table" }, true); },
		"/": function () { $("q").focus(); $("q").select(); }, "?": function () { $("keys").showModal(); },
		n: function () { nextMatch(1); focusView(); }, N: function () { nextMatch(-1); focusView(); }, s: function () { sandwich(currentKey()); }, c: copy,
		i: function () { set({ dir: state.dir === "up" ? "down" : "up" }, true); }, m: function () { treeChanges({ merge: cycle("merge"), fn: "" }); },
		f: toggleFilters, d: function () { set({ theme: theme() === "dark" ? "light" : "dark" }); },
		t: function () { if (heat) $("heatmap").focus(); },
		Backspace: unzoom, Escape: function () { if (state.q) set({ q: "" }); else unzoom(); }
	};

	function keydown(ev) {
		var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(ev.target.tagName);
		if ($("keys").open)
			return;
		if ((ev.ctrlKey || ev.metaKey) && ev.key === "f")
			PRESSED["/"]();
		else if (ev.altKey && ev.key.toLowerCase() === "r")
			set({ regex: state.regex ? "" : "1" });
		else if (ev.ctrlKey || ev.metaKey || ev.altKey)
			return;
		else if (typing && ev.target === $("q") && (ev.key === "Escape" || ev.key === "Enter")) {
			if (ev.key === "Escape")
				set({ q: "" });
			else
				nextMatch(ev.shiftKey ? -1 : 1);
			focusView();
		} else if (typing || (ev.target.tagName === "BUTTON" && (ev.key === "Enter" || ev.key === " ")))
			return;
		else if (state.view === "table" ? table.keydown(ev.key) : arrows(paneOfKeys(), ev.key))
			; // done there
		else if (PRESSED[ev.key])
			PRESSED[ev.key]();
		else
			return;
		ev.preventDefault();
	}
	// The pane with the focus, else the one with the chosen box.
	function paneOfKeys() {
		var seen = panesShown(), has = seen.find(function (p) { return p.host === document.activeElement; });
		return has || (current && seen.indexOf(current.pane) > 0 ? current.pane : panes[0]);
	}
	function focusView() {
		(state.view === "table" ? $("rows") : current && panesShown().indexOf(current.pane) > 0 ? current.pane.host : $("pane")).focus({ preventScroll: true });
	}

	// ---- pointing

	function point(pane, box, ev) {
		var tip = $("tip");
		tip.hidden = box < 0 || ev.pointerType === "touch";
		if (tip.hidden)
			return;
		var name = document.createElement("b"), t = pane.tree;
		name.textContent = t.key[box] < 0 ? "all" : t.keys.names[t.key[box]].slice(0, 2000);
		tip.replaceChildren(name, d.diff ? S.changeText(d, S.change(d, t, box)) : S.amount(d, t.value[box]) + ", " + S.percent(t.value[box], t.value[0]) +
			(pane.zoom > 0 && box >= pane.zoom ? ", " + S.percent(t.value[box], t.value[pane.zoom]) + " of the zoomed box" : ""));
		var r = tip.getBoundingClientRect(), y = ev.clientY + 18;
		tip.style.left = Math.max(2, Math.min(ev.clientX + 12, innerWidth - r.width - 4)) + "px";
		tip.style.top = (y + r.height > innerHeight ? Math.max(2, ev.clientY - r.height - 8) : y) + "px";
	}

	function listen() {
		var on = { click: zoom, point: point, resized: showFound };
		panes.push(new S.Pane($("pane"), d, on), new S.Pane($("pane2"), d, on));
		table = S.table = new S.Table($("rows"), $("rowspace"), $("columns"), d, {
			sort: function (by) { set({ sort: by }); },
			choose: function (key) {
				current = { key: key, keys: view.keysNow(), kind: view.functions().kind[key] };
				showDetails();
			},
			open: sandwich
		});
		heat = S.heat = d.heat ? new S.Heat($("heat"), d, { range: function (t) { treeChanges({ t: t }); } }) : null;
		$("views").addEventListener("click", function (ev) {
			var name = ev.target.dataset.view;
			if (name)
				set(name === "table" || name === state.view ? { view: name } : { view: name, z: "", z2: "" }, true);
		});
		$("dir").addEventListener("click", PRESSED.i);
		$("merge").addEventListener("change", function () { treeChanges({ merge: $("merge").value, fn: "" }); });
		$("colour").addEventListener("change", function () { set({ colour: $("colour").value }); });
		$("filterbutton").addEventListener("click", toggleFilters);
		$("q").addEventListener("input", function () { set({ q: $("q").value }); });
		$("regex").addEventListener("click", function () { set({ regex: state.regex ? "" : "1" }); });
		$("next").addEventListener("click", function () { nextMatch(1); });
		$("prev").addEventListener("click", function () { nextMatch(-1); });
		$("theme").addEventListener("click", PRESSED.d);
		$("help").addEventListener("click", PRESSED["?"]);
		$("dozoom").addEventListener("click", function () { if (current && current.tree) zoom(current.pane, current.box); });
		$("dosandwich").addEventListener("click", function () { sandwich(currentKey()); });
		$("docopy").addEventListener("click", copy);
		$("reset").addEventListener("click", unzoom);
		window.addEventListener("keydown", keydown);
		new ResizeObserver(function () {
			if (state.view === "table")
				table.draw();
		}).observe($("rows"));
		window.addEventListener("popstate", function () { view.read(location.hash); show(); });
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
	}

	function sum(list) { return list.reduce(function (a, b) { return a + b; }, 0); }

	function heading() {
		var when = d.start ? " at " + new Date(d.start).toLocaleString() : "";
		$("title").textContent = d.title || "Profile";
		$("list").classList.toggle("compared", !!d.diff);
		$("colour").querySelector("[value=change]").hidden = $("colour").querySelector("[value=change]").disabled = !d.diff;
		if (d.diff)
			$("sub").textContent = "before: " + d.diff.before + ", " + S.amount(d, sum(d.parts[0].value)) + " \u00b7 after: " + d.diff.after + ", " + S.amount(d, sum(d.parts[1].value)) +
				(d.diff.counts ? " \u00b7 differences in points, the intervals of all boxes hold together" : " \u00b7 durations: how much they vary by chance is not known, so there is no verdict");
		else
			$("sub").textContent = S.amount(d, d.total) + (d.duration ? " in " + S.duration(d.duration) : "") + when + (d.command ? " \u00b7 " + d.command : "");
		$("sub").title = $("sub").textContent;
		KEYS.concat(d.heat ? [["t", "heat map: arrow keys, Enter at the first and the last cell, Esc: all times"]] : []).forEach(function (row) {
			var tr = $("keytable").insertRow(), kbd = document.createElement("kbd");
			kbd.textContent = row[0];
			tr.insertCell().append(kbd);
			tr.insertCell().textContent = row[1];
		});
		$("merge").querySelector("[value=line]").disabled = !d.hasLines;
	}

	view.read(location.hash);
	state = view.state;
	heading();
	listen();
	makeFilters();
	show();
	S.loadMs = performance.now() - began;
})(window.sonde);

// Behaviour of the flame graph: zoom, search, hover, fitting names to widths, keys, a link to what is seen. Positions are percentages of the picture's width, so
// the picture is right without this script too; the frames stand in the document parent first. Gestures and keys are those of the report page (page_main.js).
(function () {
	"use strict";
	var svg = document.getElementById("flame");
	var SVGNS = "http://www.w3.org/2000/svg";
	var $ = function (id) { return svg.querySelector("#" + id); };
	var tip = $("tip"), tipBox = $("tipbox"), tipName = $("tipname"), tipInfo = $("tipinfo");
	var reset = $("reset"), matched = $("matched"), box = $("box");
	var view = { x: 0, w: 100 };
	var charWidth = 7, width = 1200, ROW = 17, zoomed = 0, chosen = -1, down = false; // down: roots on top

	var frames = Array.prototype.map.call(svg.querySelectorAll("g.f"), function (g) {
		var rect = g.querySelector("rect"), title = g.querySelector("title");
		var lines = title.textContent.split("\n");
		g.removeChild(title); // the tip replaces it
		return { g: g, rect: rect, text: g.querySelector("text"), x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")),
			 y: +rect.getAttribute("y"), name: lines[0], info: lines[1] };
	});
	var top = 1e9, foot = 0, way = [];
	frames.forEach(function (f, i) {
		f.g.frame = i;
		top = Math.min(top, f.y);
		foot = Math.max(foot, f.y);
		f.depth = (foot - f.y) / ROW; // the root is the first
		f.parent = f.depth ? way[f.depth - 1] : -1;
		way[f.depth] = i;
	});

	function measure() {
		var probe = document.createElementNS(SVGNS, "text");
		probe.textContent = "abcdefghijklmnopqrst";
		svg.appendChild(probe);
		charWidth = probe.getComputedTextLength() / 20 || 7;
		svg.removeChild(probe);
		width = svg.getBoundingClientRect().width || 1200;
	}

	function shorten(name, px) {
		var room = Math.floor((px - 6) / charWidth);
		if (room < 3)
			return "";
		return name.length <= room ? name : name.slice(0, room - 2) + "..";
	}

	function yOf(f) { return down ? top + foot - f.y : f.y; }

	function place(f, x, w, parent) {
		var label = shorten(f.name, w * width / 100);
		f.rect.setAttribute("x", x + "%");
		f.rect.setAttribute("width", w + "%");
		f.g.classList.toggle("above", parent);
		if (!f.text && label) {
			f.text = document.createElementNS(SVGNS, "text");
			f.text.setAttribute("y", yOf(f) + 12);
			f.text.setAttribute("dx", 3);
			f.g.appendChild(f.text);
		}
		if (f.text) {
			f.text.setAttribute("x", x + "%");
			f.text.textContent = label;
		}
	}

	function draw() {
		var end = view.x + view.w, eps = 1e-6;
		frames.forEach(function (f) {
			var out = f.x + f.w <= view.x + eps || f.x >= end - eps;
			f.g.style.display = out ? "none" : "";
			if (out)
				return;
			var covers = f.w > view.w + eps;
			if (covers)
				place(f, 0, 100, true);
			else
				place(f, (f.x - view.x) / view.w * 100, f.w / view.w * 100, false);
		});
		reset.style.display = zoomed ? "" : "none";
	}

	// The link to what is seen: box, search, direction.
	function remember() {
		var parts = new URLSearchParams();
		if (zoomed)
			parts.set("z", zoomed);
		if (box.value)
			parts.set("q", box.value);
		if (down)
			parts.set("dir", "down");
		if ("#" + parts === (location.hash || "#"))
			return;
		try {
			history.replaceState(null, "", "#" + parts);
		} catch (e) { // a picture without an address of its own
		}
	}

	function zoom(f) {
		zoomed = f.g.frame;
		view = { x: f.x, w: f.w };
		draw();
		search();
	}

	function unzoom() {
		if (frames.length)
			zoom(frames[0]);
	}

	function turn() {
		down = !down;
		frames.forEach(function (f) {
			f.rect.setAttribute("y", yOf(f));
			if (f.text)
				f.text.setAttribute("y", yOf(f) + 12);
		});
		choose(chosen);
		remember();
	}

	// The share of what is shown. Frames come parent first: a match inside of a match is not counted again.
	function search() {
		var re = null, sum = 0, covered = -1, n = 0, end = view.x + view.w, term = box.value;
		if (term) {
			try {
				re = new RegExp(term, "i");
			} catch (e) {
				re = new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		frames.forEach(function (f) {
			var from = Math.max(f.x, view.x), to = Math.min(f.x + f.w, end);
			f.hit = re !== null && re.test(f.name);
			f.g.classList.toggle("hit", f.hit);
			if (!f.hit || to - from < 1e-6)
				return;
			n++;
			if ((from + to) / 2 > covered) {
				sum += to - from;
				covered = to;
			}
		});
		matched.textContent = re === null ? "" : n ? n + (n === 1 ? " match: " : " matches: ") + (100 * sum / view.w).toFixed(sum < 0.1 * view.w ? 2 : 1) + " % of what is shown" : "No match";
		remember();
	}

	// ---- by key: a chosen frame

	function seen(f) {
		return f.x + f.w > view.x + 1e-6 && f.x < view.x + view.w - 1e-6;
	}
	function choose(i) {
		if (chosen >= 0)
			frames[chosen].g.classList.remove("chosen");
		chosen = i;
		if (i < 0)
			return;
		var f = frames[i], r;
		f.g.classList.add("chosen");
		r = f.rect.getBoundingClientRect();
		if (r.top < 62 || r.bottom > window.innerHeight) {
			window.scrollBy(0, r.top - window.innerHeight / 2);
			r = f.rect.getBoundingClientRect();
		}
		explain(f, Math.max(r.left, 0), r.top + ROW / 2);
	}
	// The frame next to the chosen one: toward the root, toward the leaf (the widest), to the left or right in its row.
	function neighbour(where) {
		var f = frames[chosen], best = -1;
		if (!f)
			return zoomed;
		if (where === "root")
			return Math.max(f.parent, 0);
		frames.forEach(function (g, i) {
			if (!seen(g))
				return;
			if (where === "leaf" ? g.parent === chosen && (best < 0 || g.w > frames[best].w) : g.depth === f.depth && (where === "left" ? i < chosen : i > chosen && best < 0))
				best = i;
		});
		return best < 0 ? chosen : best;
	}
	function nextMatch(by) {
		for (var n = 0, i = chosen < 0 && by < 0 ? 0 : chosen; n < frames.length; n++) {
			i = (i + by + frames.length) % frames.length;
			if (frames[i].hit && seen(frames[i]))
				return choose(i);
		}
	}
	function copy() {
		var lines = [];
		for (var i = chosen; i > 0; i = frames[i].parent)
			lines.push("    " + frames[i].name);
		if (lines.length && navigator.clipboard)
			navigator.clipboard.writeText(lines.join("\n") + "\n        " + frames[chosen].info + "\n");
	}

	function frameOf(target) {
		var g = target.closest ? target.closest("g.f") : null;
		return g ? frames[g.frame] : null;
	}

	function hover(ev) {
		var f = frameOf(ev.target);
		if (f)
			explain(f, ev.clientX, ev.clientY);
		else
			tip.style.display = "none";
	}
	function explain(f, atX, atY) {
		tip.style.display = "";
		var r = svg.getBoundingClientRect();
		var max = Math.max(10, Math.floor((width - 30) / charWidth));
		tipName.textContent = f.name.length > max ? f.name.slice(0, max - 2) + ".." : f.name;
		tipInfo.textContent = f.info + (view.w < 100 && f.w <= view.w ? ", " + (f.w / view.w * 100).toFixed(2) + "% of the zoomed frame" : "");
		var w = Math.max(tipName.getComputedTextLength(), tipInfo.getComputedTextLength()) + 16;
		var x = Math.min(atX - r.left + 12, width - w - 4), y = atY - r.top + 18;
		if (atY + 62 > window.innerHeight)
			y -= 68;
		tipBox.setAttribute("width", w);
		tip.setAttribute("transform", "translate(" + Math.max(2, x) + "," + y + ")");
	}

	// A deep stack makes a tall picture. Frames grow from its foot, so it opens there, and the head stays in sight.
	var head = document.createElementNS(SVGNS, "g");
	function follow() {
		var gone = Math.max(0, -svg.getBoundingClientRect().top);
		head.setAttribute("transform", "translate(0," + gone + ")");
	}
	head.setAttribute("id", "head");
	head.appendChild(svg.querySelector("#paper").cloneNode()).setAttribute("height", 58);
	["title", "sub", "reset", "key", "matched", "find"].forEach(function (id) { head.appendChild($(id)); });
	svg.insertBefore(head, tip);
	window.addEventListener("scroll", follow);

	svg.addEventListener("click", function (ev) {
		var f = frameOf(ev.target);
		if (f)
			zoom(f);
		else if (ev.target === reset)
			unzoom();
	});
	svg.addEventListener("mousemove", hover);
	svg.addEventListener("mouseleave", function () { tip.style.display = "none"; });
	box.addEventListener("input", search);
	var MOVES = { ArrowLeft: "left", ArrowRight: "right" };
	var PRESSED = {
		"/": function () { box.focus(); box.select(); }, n: function () { nextMatch(1); }, N: function () { nextMatch(-1); }, c: copy, i: turn, Backspace: unzoom,
		Enter: function () { if (chosen >= 0) { zoom(frames[chosen]); choose(chosen); } },
		Escape: function () {
			if (!box.value)
				return unzoom();
			box.value = "";
			search();
		}
	};
	window.addEventListener("keydown", function (ev) {
		var move = MOVES[ev.key] || { ArrowUp: down ? "root" : "leaf", ArrowDown: down ? "leaf" : "root" }[ev.key], find = (ev.ctrlKey || ev.metaKey) && ev.key === "f";
		if (!find && (ev.ctrlKey || ev.metaKey || ev.altKey || !frames.length))
			return;
		if (document.activeElement === box && !find) {
			if (ev.key !== "Escape" && ev.key !== "Enter")
				return;
			box.blur();
			if (ev.key === "Enter")
				nextMatch(ev.shiftKey ? -1 : 1);
			else
				PRESSED.Escape();
		} else if (move)
			choose(neighbour(move));
		else if (find || PRESSED[ev.key])
			PRESSED[find ? "/" : ev.key]();
		else
			return;
		ev.preventDefault();
	});
	window.addEventListener("resize", function () { measure(); draw(); });

	svg.setAttribute("width", "100%");
	svg.querySelector("#find").style.display = "";
	measure();
	var link = new URLSearchParams(location.hash.slice(1));
	box.value = link.get("q") || "";
	if (link.get("dir") === "down")
		turn();
	if (frames[link.get("z")])
		zoom(frames[link.get("z")]);
	else
		draw();
	search();
	if (document.documentElement === svg) // not part of another page
		window.scrollTo(0, svg.getBoundingClientRect().height);
	follow();
})();

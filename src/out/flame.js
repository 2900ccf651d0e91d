// Behaviour of the flame graph: zoom, search, hover, fitting names to widths. Positions are percentages of the picture's width, so the picture
// is right without this script too; the frames stand in the document parent first.
(function () {
	"use strict";
	var svg = document.getElementById("flame");
	var SVGNS = "http://www.w3.org/2000/svg";
	var $ = function (id) { return svg.querySelector("#" + id); };
	var tip = $("tip"), tipBox = $("tipbox"), tipName = $("tipname"), tipInfo = $("tipinfo");
	var reset = $("reset"), matched = $("matched"), box = $("box");
	var view = { x: 0, w: 100 };
	var charWidth = 7, width = 1200;

	var frames = Array.prototype.map.call(svg.querySelectorAll("g.f"), function (g) {
		var rect = g.querySelector("rect"), title = g.querySelector("title");
		var lines = title.textContent.split("\n");
		g.removeChild(title); // the tip replaces it
		return { g: g, rect: rect, text: g.querySelector("text"), x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")),
			 y: +rect.getAttribute("y"), name: lines[0], info: lines[1] };
	});
	frames.forEach(function (f, i) { f.g.frame = i; });

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

	function place(f, x, w, parent) {
		var label = shorten(f.name, w * width / 100);
		f.rect.setAttribute("x", x + "%");
		f.rect.setAttribute("width", w + "%");
		f.g.classList.toggle("above", parent);
		if (!f.text && label) {
			f.text = document.createElementNS(SVGNS, "text");
			f.text.setAttribute("y", f.y + 12);
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
		reset.style.display = view.w < 100 ? "" : "none";
	}

	function zoom(f) {
		view = { x: f.x, w: f.w };
		draw();
	}

	function unzoom() {
		view = { x: 0, w: 100 };
		draw();
	}

	// Frames come parent first: a match inside of a match is not counted again.
	function search(term) {
		var re = null, sum = 0, covered = -1, n = 0;
		if (term) {
			try {
				re = new RegExp(term, "i");
			} catch (e) {
				re = new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		frames.forEach(function (f) {
			var hit = re !== null && re.test(f.name);
			f.g.classList.toggle("hit", hit);
			if (!hit)
				return;
			n++;
			if (f.x + f.w / 2 > covered) {
				sum += f.w;
				covered = f.x + f.w;
			}
		});
		matched.textContent = re === null ? "" : n ? "Matched: " + sum.toFixed(sum < 10 ? 2 : 1) + "%" : "No match";
	}

	function frameOf(target) {
		var g = target.closest ? target.closest("g.f") : null;
		return g ? frames[g.frame] : null;
	}

	function hover(ev) {
		var f = frameOf(ev.target);
		tip.style.display = f ? "" : "none";
		if (!f)
			return;
		var r = svg.getBoundingClientRect();
		var max = Math.max(10, Math.floor((width - 30) / charWidth));
		tipName.textContent = f.name.length > max ? f.name.slice(0, max - 2) + ".." : f.name;
		tipInfo.textContent = f.info + (view.w < 100 && f.w <= view.w ? ", " + (f.w / view.w * 100).toFixed(2) + "% of the zoomed frame" : "");
		var w = Math.max(tipName.getComputedTextLength(), tipInfo.getComputedTextLength()) + 16;
		var x = Math.min(ev.clientX - r.left + 12, width - w - 4), y = ev.clientY - r.top + 18;
		if (ev.clientY + 62 > window.innerHeight)
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
	box.addEventListener("input", function () { search(box.value); });
	window.addEventListener("keydown", function (ev) {
		if ((ev.ctrlKey || ev.metaKey) && ev.key === "f") {
			ev.preventDefault();
			box.focus();
			box.select();
		} else if (ev.key === "Escape") {
			if (box.value) {
				box.value = "";
				search("");
			} else
				unzoom();
		}
	});
	window.addEventListener("resize", function () { measure(); draw(); });

	svg.setAttribute("width", "100%");
	svg.querySelector("#find").style.display = "";
	measure();
	draw();
	if (document.documentElement === svg) // not part of another page
		window.scrollTo(0, svg.getBoundingClientRect().height);
	follow();
})();

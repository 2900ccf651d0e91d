// Functions with known callers, for SECONDS of time. usage: deno run deno.js SECONDS
const list = Array.from({ length: 300 }, (_, i) => ({ i, text: "x" + i }));
function innerWork(n) {
	return JSON.stringify(list).length + n;
}
function middleWork(n) {
	return innerWork(n) + innerWork(n + 1);
}
class Shape {
	outerWork(n) {
		return [n, n + 1, n + 2].map((x) => middleWork(x)).reduce((a, b) => a + b, 0);
	}
}
function mainLoop(end) {
	const shape = new Shape();
	let sum = 0;
	while (Date.now() < end)
		sum += shape.outerWork(5);
	return sum;
}
console.log(mainLoop(Date.now() + Number(Deno.args[0]) * 1000));

'use strict';
// Programs' stacks as V8 tells them of itself: before each fsync() of a descriptor that is none, the frames of an Error go into a file. usage: node v8_stacks.js FILE N
// N > 0: that many, as soon as FILE.go is there; FILE.up: it waits, FILE.done: it is done. -1: work for ever, for samples.
const fs = require('fs');
const vm = require('vm');
const file = process.argv[2];
const count = Number(process.argv[3]);
const lines = [];
let on = false;
Error.stackTraceLimit = Infinity;

function describe(error, frames) {
  return frames.filter((f) => !f.isAsync() && !f.isPromiseAll()).map((f) => `${f.getFunctionName() || ''}\t${f.getFileName() || ''}\t${f.getLineNumber() || 0}`).join('\n');
}

function ask() {
  if (!on)
    return 0;
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = describe;
  lines.push(new Error('where').stack); try { fs.fsyncSync(987654); } catch (e) { }
  Error.prepareStackTrace = before;
  return 1;
}

class Shape {
  #side = 2;
  constructor(n) {
    this.n = n;
    if (n < 0)
      ask();
  }
  get area() {
    return this.#side * this.n + ask();
  }
  static make(n) {
    return new Shape(n);
  }
  each(f) {
    return [3, 1, 2].map((x) => f(x)).reduce((a, b) => a + b, 0);
  }
}
class Square extends Shape {
  constructor(n) {
    super(-n);
  }
  get area() {
    return super.area;
  }
}

function* numbers(n) {
  for (let i = 0; i < n; i++)
    yield i + ask();
}

function recursive(n) {
  return n === 0 ? ask() : recursive(n - 1) + 1;
}

// Small functions that the compiler puts into those that call them
function inner(n) {
  return ask() + n;
}
function middle(n) {
  return inner(n) +
    1;
}
function outer(n) {
  let sum = 0;
  for (let i = 0; i < 3; i++)
    sum += middle(i) + n;
  return sum;
}

async function later(n) {
  await null;
  return outer(n);
}

const made = new Function('f', '\nreturn f(1);');
const script = vm.runInThisContext('(function inScript(f) {\n\n  return f(2);\n})', 'a-script.js');
const table = { 'method name'(f) { return f(1); }, arrow: (f) => f(2), nested: { deep: function (f) { return f(3); } } };
const bound = outer.bind(null, 4);
const proxy = new Proxy({}, { get(target, key) { return ask() + key.length; } });
const wide = '\u{1f600} é ü';

function hot(n, last) { // its own loop is compiled while it runs
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum = (sum * 31 + i) | 0;
  return last ? sum + inner(sum & 1) : sum;
}

const works = [
  () => outer(1), () => recursive(30), () => [...numbers(3)].length, () => new Square(2).area, () => Shape.make(-1), () => new Shape(2).each((x) => inner(x)),
  () => [5, 3, 9].sort((a, b) => inner(a) - b), () => 'a-b'.replace(/[ab]/g, (x) => x + inner(1)), () => JSON.parse('[1,2]', (k, v) => (k === '1' ? inner(1) : v)),
  () => made(inner), () => script(middle), () => table['method name'](inner), () => table.arrow(inner), () => table.nested.deep(middle), () => bound(), () => proxy.anything,
  () => Reflect.apply(outer, null, [2]), () => new Map([[1, 2]]).forEach((v) => inner(v)), () => hot(200, true), () => wide.split(' ').filter((x) => inner(x.length)),
  () => outer.call(null, 3), () => { try { throw new Error('x'); } catch (e) { return inner(1); } finally { inner(2); } },
];

function round(i) {
  works[i % works.length]();
}

async function main() {
  for (let i = 0; i < 3000; i++) { // some of it is compiled
    for (const f of works)
      f();
    if (i % 100 === 0)
      await later(1);
  }
  hot(1e7, false);
  fs.writeFileSync(file + '.up', '');
  if (count < 0) {
    for (;;) {
      for (let i = 0; i < 1000; i++)
        round(i);
      await later(2);
    }
  }
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (!fs.existsSync(file + '.go'))
    Atomics.wait(sleeper, 0, 0, 50);
  on = true;
  for (let i = 0; lines.length < count; i++) {
    round(i);
    if (i % works.length === 0)
      await later(3);
  }
  on = false;
  fs.writeFileSync(file, lines.slice(0, count).join('\n\n') + '\n');
  fs.writeFileSync(file + '.done', '');
  setInterval(() => 0, 1000);
}
main();

'use strict';
// Stacks with WebAssembly in them as V8 tells them of itself: before each fsync(987654), the frames of an Error go into a file. usage: node v8_wasm.js FILE N [names|freed]
// Functions call a function of JavaScript, themselves, one another and one by a table. N > 0: that many rounds of three stacks, after a second in which they are compiled and a nap in which the tracer sees it; -1: work for
// ever, for samples. freed: with names, and before anything else functions with much code, which V8 compiles anew, whereupon it gives back pages of what it had of them. FILE.up: it works. names: the module has its functions' names, but one's.
const fs = require('fs');
const leb = (n) => { const out = []; do { let b = n & 127; n >>>= 7; out.push(n ? b | 128 : b); } while (n); return out; };
const str = (s) => { const b = [...Buffer.from(s)]; return [...leb(b.length), ...b]; };
const vec = (items) => [...leb(items.length), ...items.flat()];
const section = (id, body) => [id, ...leb(body.length), ...body];
const I32 = 0x7f;
// types: 0: (i32)->i32
const body = (code, locals = []) => { const b = [...vec(locals), ...code, 0x0b]; return [...leb(b.length), ...b]; };
const get = (n) => [0x20, n], c = (n) => [0x41, ...leb(n)], call = (f) => [0x10, ...leb(f)];
// imports: 0 ask(i32)->i32, 1 other(i32)->i32
const funcs = [
  ['leaf', [...get(0), ...call(0)]],                                  // 2 leaf(n) = ask(n)
  ['middle', [...get(0), ...call(2), ...c(1), 0x6a]],                 // 3
  ['', [...get(0), ...call(3), ...c(1), 0x6a]],                 // 4 without a name
  // 5 fib
  ['fib', [...get(0), ...c(2), 0x48, 0x04, I32, ...get(0), 0x05, ...get(0), ...c(1), 0x6b, ...call(5), ...get(0), ...c(2), 0x6b, ...call(5), 0x6a, 0x0b]],
  // 6 deep(n): n == 0 ? outer(n) : deep(n-1)
  ['deep', [...get(0), 0x45, 0x04, I32, ...get(0), ...call(4), 0x05, ...get(0), ...c(1), 0x6b, ...call(6), ...c(1), 0x6a, 0x0b]],
  // 7 work(n): sum of fib(n) + leaf loop
  ['work', [...get(0), ...call(5), ...get(0), ...call(8), 0x6a]],
  // 8 spin(n): loop of 1000*n, no calls
  ['spin', [...c(0), 0x21, 1, 0x03, 0x40, ...get(1), ...c(1), 0x6a, 0x22, 1, ...get(0), ...c(1000), 0x6c, 0x48, 0x0d, 0, 0x0b, ...get(1)], [[1, I32]]],
  // 9 indirect(n): call_indirect table[0]
  ['indirect', [...get(0), ...c(0), 0x11, 0, 0]],
];
const FREED = process.argv[4] === 'freed' ? 150 : 0, NAMES = process.argv[4] === 'names' || FREED;
for (let i = 0; i < FREED; i++)
  funcs.push([`freed_${i}`, [...c(0), 0x21, 1, 0x03, 0x40, ...Array(400).fill([...get(2), ...c(i + 1), 0x6a, ...get(0), 0x73, 0x21, 2]).flat(),
    ...get(1), ...c(1), 0x6a, 0x22, 1, ...get(0), 0x48, 0x0d, 0, 0x0b, ...get(2)], [[2, I32]]]);
const names = [[0, 'ask'], [1, 'other'], ...funcs.map(([n], i) => [i + 2, n])].filter(([, n]) => n);
function bytes(withNames) {
  const out = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vec([[0x60, ...vec([[I32]]), ...vec([[I32]])]])),
    ...section(2, vec([[...str('env'), ...str('ask'), 0, 0], [...str('env'), ...str('other'), 0, 0]])),
    ...section(3, vec(funcs.map(() => [0]))),
    ...section(4, [1, 0x70, 0, 1]),
    ...section(7, vec([[...str('deep'), 0, 6], [...str('work'), 0, 7], [...str('indirect'), 0, 9], [...str('leaf'), 0, 2], ...Array.from({ length: FREED }, (_, i) => [...str(`freed_${i}`), 0, ...leb(10 + i)])])),
    ...section(9, vec([[0, ...c(0), 0x0b, ...vec([leb(6)])]])),
    ...section(10, vec(funcs.map(([, code, locals]) => body(code, locals)))),
  ];
  if (withNames)
    out.push(...section(0, [...str('name'), 1, ...(() => { const v = vec(names.map(([i, n]) => [...leb(i), ...str(n)])); return [...leb(v.length), ...v]; })()]));
  return new Uint8Array(out);
}
const file = process.argv[2], count = Number(process.argv[3]), lines = [];
Error.stackTraceLimit = Infinity;
let told = false;
function ask() {
  if (!told) { // the tracer comes to know the code
    try { fs.fsyncSync(987653); } catch (e) { }
    return 0;
  }
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (e, frames) => frames.map((f) => `${f.getFunctionName() || ''}\t${f.getFileName() || ''}\t${f.getLineNumber() || 0}`).join('\n');
  lines.push(new Error('where').stack);
  try { fs.fsyncSync(987654); } catch (e) { }
  Error.prepareStackTrace = before;
  return 1;
}
const m = new WebAssembly.Module(bytes(NAMES));
const w = new WebAssembly.Instance(m, { env: { ask, other: ask } }).exports;
for (let i = 0; i < FREED; i++)
  w[`freed_${i}`](3000);
if (FREED)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
if (count < 0) { fs.writeFileSync(file + '.up', ''); for (;;) w.work(22); }
fs.writeFileSync(file + '.up', '');
for (const end = Date.now() + 1000; Date.now() < end;)
  w.work(18) + w.deep(2) + w.indirect(1);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
told = true;
for (let i = 0; i < count; i++) { w.deep(i % 5); w.indirect(i % 3); w.work(10); }
fs.writeFileSync(file, lines.join('\n\n'));

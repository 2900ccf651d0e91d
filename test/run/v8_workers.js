'use strict';
// Worker threads, each of which is an isolate of V8 with functions of its own, while collections move them. Worker N's functions are worker_N and below_N, its closed descriptor is
// 900000 + N. usage: node --expose-gc v8_workers.js FILE. FILE.up: all are at work. Ends when it is killed.
const { Worker } = require('worker_threads');
const fs = require('fs');
const file = process.argv[2];
let up = 0;

function source(n) {
  return `
    const fs = require('fs');
    const { parentPort } = require('worker_threads');
    const kept = [];
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    function below_${n}(x) {
      kept[x % 100] = { x, text: 'kept' + x };
      try { fs.fsyncSync(${900000 + n}); } catch (e) { }
      return x;
    }
    function worker_${n}(rounds) {
      let sum = 0;
      for (let i = 0; i < rounds; i++)
        sum += [3, 1, 2].map((x) => below_${n}(x + i)).length;
      return sum;
    }
    worker_${n}(20000);
    parentPort.postMessage('up');
    for (let i = 0; ; i++) {
      worker_${n}(50);
      Atomics.wait(sleeper, 0, 0, 5);
      if (i % 20 === ${n})
        globalThis.gc();
    }`;
}

for (let n = 1; n <= 4; n++)
  new Worker(source(n), { eval: true }).on('message', () => {
    if (++up === 4)
      fs.writeFileSync(file + '.up', '');
  });

'use strict';
// Two functions that V8 puts into work(): one takes two square roots, each of which waits for the one before, the other one. So of work's time they have 2/3 and 1/3.
function twice(x) {
  return Math.sqrt(Math.sqrt(x + 1) + 1);
}
function once(x) {
  return Math.sqrt(x + 1);
}
function work(n) {
  let s = 0;
  for (let i = 0; i < n; i++)
    s = twice(s);
  for (let i = 0; i < n; i++)
    s = once(s);
  return s;
}

let sum = 0;
for (let i = 0; ; i++) {
  sum += work(1e5);
  if (i === 1000)
    console.log(sum);
}

'use strict';
// A loop that runs on while V8 compiles it, with a function put into it: all of the program's time is there.
function twice(x) {
  return Math.sqrt(Math.sqrt(x + 1) + 1);
}
let s = 0;
console.log('up');
for (let i = 0; i < 1e12; i++)
  s = twice(s) + (i & 1);

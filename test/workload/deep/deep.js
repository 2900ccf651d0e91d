// As deep.py. What the optimising compiler puts into others is not shown, so runtimes.py counts the frames that are.
'use strict';

function last() {
  for (let sum = 0; ; sum++)
    sum ^= process.ppid;
}

function down(n) {
  const r = n > 1 ? up(n - 1) : last();
  return r + 1;
}

function up(n) {
  const r = n > 1 ? down(n - 1) : last();
  return r - 1;
}

down(Number(process.argv[2]));

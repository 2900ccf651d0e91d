#!/bin/bash
# Stacks of a PostgreSQL server whose queries LLVM compiles: usage: pgjit.sh SONDE DIR on|off. A server of its own in DIR, as the user postgres, on a socket there; jit_debugging_support
# as told. Prints how many of the stacks of a backend at work were whole, whether functions of the queries are named, and what the others are told.
sonde=$1 dir=$2 told=$3
bin=/usr/lib/postgresql/15/bin
as() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
mkdir -p "$dir" && chown postgres "$dir" || exit 1
as $bin/initdb -D "$dir/data" -A trust -N >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log"; exit 1; }
as $bin/pg_ctl -w -D "$dir/data" -l "$dir/log" -o "-k $dir -c listen_addresses= -c fsync=off -c jit=on -c jit_above_cost=0 -c max_parallel_workers_per_gather=0 -c jit_debugging_support=$told" start >/dev/null || { cat "$dir/log"; exit 1; }
trap 'as $bin/pg_ctl -D "$dir/data" -m immediate stop >/dev/null' EXIT
export PGHOST=$dir PGUSER=postgres PGDATABASE=postgres
psql -qc "create table t as select i as a, i * 2 as b, 'x' || i as c from generate_series(1, 1000000) i"
mkfifo "$dir/in"
psql -qAt <"$dir/in" >"$dir/out" &
exec 3>"$dir/in"
echo 'select pg_backend_pid();' >&3
until [ -s "$dir/out" ]; do sleep 0.1; done
backend=$(head -1 "$dir/out")
(for i in $(seq 30); do echo "select sum((a * 3 + b * 7) % 11 + case when c like 'x%7' then 1 else 2 end) from t where a % 3 <> 1;"; done >&3) &
"$sonde" profile -F 299 -U --why-incomplete -f -p "$backend" 6 >"$dir/folded" 2>"$dir/err"
grep -o '^[0-9]* user stacks.*whole ([0-9.]* %)' "$dir/err" | awk '{print ($1 > 200 ? "enough stacks," : "only " $1 " stacks,"), ($4 * 100 >= $1 * 95 ? "whole" : "whole " $4)}' | tr -d '()'
echo "named $(grep -c 'evalexpr_[0-9]*_[0-9]' "$dir/folded" | sed 's/^[1-9].*/yes/; s/^0/no/')"
grep -o 'perhaps LLVM.*' "$dir/err" | sort -u
exec 3>&-

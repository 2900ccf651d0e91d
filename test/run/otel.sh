#!/bin/sh
# Does a map keyed by trace_id and span_id say what the program says (test/workload/otel.c), however its variable is found?
# usage: otel.sh SONDE SOURCE: prints a line a way of thread-local storage. Names of libraries have no path: found in the current directory
sonde=$1 source=$2
LD_LIBRARY_PATH=$PWD; export LD_LIBRARY_PATH
script='uprobe:./PROG:warm { @w[trace_id] = count() } uprobe:./PROG:work { @[trace_id, span_id] = count() }'

one() # NAME PROGRAM [LIBRARY]
{
	$sonde -q -c "./$2 $3" -e "$(echo "$script" | sed "s/PROG/$2/g")" >out.$1 2>err.$1
	grep '^@\[.*: [0-9]*$' out.$1 | sort | uniq -c | awk '{ n[$1]++ } END { printf "same %d, one-sided %d", n[2], n[1] + 0 }' >sum.$1
	echo "$1: $(cat sum.$1); warm $(grep -c '^@w\[\]: 21$' out.$1); $(grep -o 'empty trace_id or span_id: [0-9]*' err.$1)"
	! grep -q 'same 0,' sum.$1 || cat err.$1
}

lib() { gcc -O2 -shared -fPIC -DVARIABLE -DONLY -o $1.so "$source" $2 $3; }
gcc -O2 -fPIE -pie -rdynamic -DVARIABLE -o fixed "$source" -ldl -lpthread && one fixed fixed
gcc -O2 -no-pie -rdynamic -DVARIABLE -o nopie "$source" -ldl -lpthread && one nopie nopie
for how in initial:-ftls-model=initial-exec module:-mtls-dialect=gnu descriptor:-mtls-dialect=gnu2 bound:-Wl,-Bsymbolic bound2:-mtls-dialect=gnu2\ -Wl,-Bsymbolic; do
	name=${how%%:*}
	lib $name ${how#*:} && gcc -O2 -Wl,--no-as-needed -o with_$name "$source" ./$name.so -ldl -lpthread && one $name with_$name
done
gcc -O2 -o without "$source" -ldl -lpthread
for name in module descriptor bound bound2; do one loaded_$name without ./$name.so; done

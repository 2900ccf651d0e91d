#!/bin/sh
# Stacks of programs of Node.js. usage: v8.sh SONDE TOP stacks | samples [NODE [OPTION...]]. stacks: are the frames of 300 stacks equal to what V8 says;
# samples: how many samples are whole, and that its functions are among them.
sonde=$1 top=$2 what=$3
shift 3
[ $# -gt 0 ] || set -- node
rm -f w w.*
n=300
[ "$what" = stacks ] || n=-1
"$@" "$top/test/run/v8_stacks.js" w $n >node.out 2>&1 &
pid=$!
until [ -e w.up ]; do sleep 0.1; kill -0 $pid || { cat node.out; exit 1; }; done
case $what in
stacks)
	"$sonde" -q --why-incomplete --dwarf-pid $pid -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' \
		-e "tracepoint:syscalls:sys_enter_fsync /pid == $pid && args.fd == 987654/ { printf(\"%s\\n\", ustack); @f[lang_func] = count() }" >o 2>&1
	;;
samples)
	"$sonde" -q --why-incomplete --dwarf-pid $pid -e "profile:hz:499 /pid == $pid/ { @[ustack] = count() } interval:s:3 { exit() }" >o 2>&1
	;;
esac
kill $pid
wait $pid 2>/dev/null
if [ "$what" = stacks ]; then
	python3 "$top/test/run/v8_same.py" w o
	grep -e ' user stacks, ' -e '^@f' o | sed 's/^[0-9]* user stacks, [0-9]* //'
else
	grep ' user stacks, ' o | sed 's/^[0-9]* user stacks, [0-9]* whole//'
	grep -o 'main+[0-9]* .*v8_stacks.js' o | sed 's/+.*/ was there/' | sort -u
fi

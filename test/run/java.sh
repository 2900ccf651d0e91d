#!/bin/sh
# Stacks of Java programs. usage: java.sh SONDE TOP stacks | samples | native | new | virtual | strings [JAVA_HOME...]; without a folder that of `javac`.
# stacks: are the Java frames of 300 stacks equal to what the VM says; samples, native: how many samples are whole; new: of a VM that starts later;
# strings: how many callers of code that compares strings are an address only; virtual: how many stacks of virtual threads reach their carrier's start (JDK 21 and later).
sonde=$1 top=$2 what=$3
shift 3
[ $# -gt 0 ] || set -- "$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")"
javac -encoding UTF-8 --release 11 -d . "$top/test/run/JavaStacks.java" || exit 1
begin() {
	rm -f w w.*
	"$1/bin/java" -Dfile.encoding=UTF-8 -cp . "${3-JavaStacks}" w "$2" >java.out 2>&1 &
	pid=$!
	until [ -e w.up ]; do sleep 0.1; kill -0 $pid || { cat java.out; exit 1; }; done
}
end() {
	kill $pid
	wait $pid 2>/dev/null
}
for home; do
	case $what in
	stacks)
		begin "$home" 300
		"$sonde" -q --why-incomplete --dwarf-pid $pid -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' \
			-e "tracepoint:syscalls:sys_enter_fsync /pid == $pid/ { printf(\"%s\\n\", ustack); @f[lang_func] = count() }" >o 2>&1
		end
		python3 "$top/test/run/java_same.py" w o | sed 's/of [0-9]* frames, //'
		grep -e ' user stacks, ' -e '^@f' o | sed 's/sync0/sync/; s/^[0-9]* user stacks, [0-9]* //'
		;;
	samples | native)
		begin "$home" -1
		touch w.go
		expr=ustack
		[ $what = native ] && expr='ustack(native)'
		"$sonde" -q --why-incomplete --dwarf-pid $pid -e "profile:hz:499 /pid == $pid/ { @[$expr] = count() } interval:s:3 { exit() }" >o 2>&1
		end
		grep ' user stacks, ' o | sed 's/^[0-9]* user stacks, [0-9]* whole//'
		grep -o 'JavaStacks\.again' o | sort -u
		;;
	virtual)
		"$home/bin/javac" -d . "$top/test/run/JavaVirtual.java" || exit 1
		begin "$home" 0 JavaVirtual
		"$sonde" -q --why-incomplete --dwarf-pid $pid -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' \
			-e "tracepoint:syscalls:sys_enter_fsync /pid == $pid/ { @[ustack] = count() }" >o 2>&1
		end
		grep ' user stacks, ' o
		grep -o ': a virtual thread.*' o
		grep -c 'Continuation.enterSpecial' o
		;;
	strings)
		"$home/bin/javac" -d . "$top/test/run/JavaStrings.java" || exit 1
		begin "$home" 0 JavaStrings
		"$sonde" -q --why-incomplete --dwarf-pid $pid -e "profile:hz:999 /pid == $pid/ { @[ustack] = count() } interval:s:3 { exit() }" >o 2>&1
		end
		grep ' user stacks, ' o | sed 's/^[0-9]* user stacks, [0-9]* whole//'
		grep -A1 'TreeMap\.' o | grep -c '^ *0x'
		grep -c 'JavaStrings.compare' o | sed 's/^[1-9][0-9]*$/named/'
		;;
	new)
		touch w.go
		"$sonde" -q -c "$home/bin/java -cp . JavaStacks w 1000000" -e 'tracepoint:syscalls:sys_enter_fsync /pid == cpid/ { @[ustack] = count() } interval:s:8 { exit() }' >o 2>&1
		grep -c '^	*  *JavaStacks.main+[0-9]* .JavaStacks.java:[0-9]*.$' o | sed 's/^[1-9][0-9]*$/named/'
		;;
	esac
done

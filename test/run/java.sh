#!/bin/sh
# Stacks of Java programs. usage: java.sh SONDE TOP stacks | asleep | samples | native | new | virtual | strings | jni [JAVA_HOME...]; without a folder that of `javac`; debian21: the
# JDK 21 that test/workload/runtimes.py --fetch has unpacked, if it has.
# stacks: are the Java frames of 300 stacks equal to what the VM says; asleep: the same of 60, taken of the threads as they sleep; samples, native: how many samples are whole; new: of a VM that starts later;
# strings: how many callers of code that compares strings are an address only; virtual: how many stacks of virtual threads reach their carrier's start (JDK 21 and later).
# jni: Java that calls C that calls Java, eight times in one another, in threads of Java's and of C's: how many stacks are whole, with how many frames of each method and function.
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
debian21() { # its libraries are beside it
	root=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/trixie
	jvm=$root/usr/lib/jvm/java-21-openjdk-amd64
	[ -e "$jvm/bin/java" ] || return 1
	mkdir -p debian21/bin
	cat >debian21/bin/java <<-END
		#!/bin/sh
		exec $root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 --library-path $root/usr/lib/x86_64-linux-gnu:$jvm/lib:$jvm/lib/server $jvm/bin/java "\$@"
	END
	chmod +x debian21/bin/java
}
for home; do
	[ "$home" != debian21 ] || debian21 || { echo no JDK 21 unpacked; continue; }
	case $what in
	jni)
		jni=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")/include
		javac --release 11 -d . "$top/test/workload/jni/Native.java" && gcc -shared -fPIC -O2 -I"$jni" -I"$jni/linux" -o libnative.so "$top/test/workload/jni/native.c" || exit 1
		"$home/bin/java" -Djava.library.path=. -cp . Native 100 >java.out 2>&1 &
		pid=$!
		"$sonde" -q --dwarf-pid $pid -c 'sleep 4' -e "tracepoint:syscalls:sys_enter_clock_nanosleep /pid == $pid/ { @n++ }" >/dev/null 2>&1 # it has begun, and what it runs is compiled
		"$sonde" -q --why-incomplete --dwarf-pid $pid -e "tracepoint:syscalls:sys_enter_clock_nanosleep /pid == $pid/ { @[ustack] = count(); @n++; if (@n >= 300) { exit() } } interval:s:20 { exit() }" >o 2>&1
		end
		grep ' user stacks, ' o | sed 's/^[0-9]* user stacks, [0-9]* whole/whole/'
		awk '/^@\[$/ { d = n = c = m = 0 } /Native\.deeper\+/ { d++ } / Native\.nest\+/ || /\tNative\.nest\+/ { n++ } /Java_Native_nest\+/ { c++ } /^\]: / && d + n + c { print d, n, c }' o | sort -u # the VM's own threads sleep, too
		;;
	stacks)
		begin "$home" 300
		"$sonde" -q --why-incomplete --dwarf-pid $pid -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' \
			-e "tracepoint:syscalls:sys_enter_fsync /pid == $pid/ { printf(\"%s\\n\", ustack); @f[lang_func] = count() }" >o 2>&1
		end
		python3 "$top/test/run/java_same.py" w o | sed 's/of [0-9]* frames, //'
		grep -e ' user stacks, ' -e '^@f' o | sed 's/sync0/sync/; s/^[0-9]* user stacks, [0-9]* //'
		;;
	asleep)
		rm -f w w.*
		touch w.go
		python3 "$top/test/run/asleep.py" "$sonde" stopped fsync "$home/bin/java" -Dfile.encoding=UTF-8 -cp . JavaStacks w 60 >o 2>&1
		python3 "$top/test/run/java_same.py" w o | sed 's/of [0-9]* frames, //'
		tail -n 1 o
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
		set -- /usr/lib/jvm/*-2[1-9]-*/bin/javac
		"$1" --release 21 -d . "$top/test/run/JavaVirtual.java" || exit 1
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

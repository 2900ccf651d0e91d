#!/bin/sh
# demo-story.sh BUILD FOLDER [SECONDS]: two small services in control groups of their own, "shop" and "thumbs", and the pictures that answer what is wrong with them.
# Writes the pictures into FOLDER, prints where to look, and the answers that are to be found there. Needs root.
build=$(readlink -f "$1") out=${2:-story} seconds=${3:-12}
sonde=$build/sonde
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/sonde-story$$
mkdir -p "$out" && cd "$out" || exit 1
mkdir -p "$groups/shop" "$groups/thumbs" || { echo 'demo-story: needs root, and a cgroup2 file system that may be written'; exit 1; }
pids=
clean() {
	kill $pids 2>/dev/null
	wait 2>/dev/null
	rmdir "$groups/shop" "$groups/thumbs" "$groups"
}
trap clean EXIT
trap 'exit 1' INT TERM

# start GROUP ARGS: the service of that name, in its group; $started is its id
start() {
	group=$1
	shift
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$groups/$group" "$build/story" "$group" "$@" >>burst.txt &
	started=$!
	pids="$pids $started"
}

rm -f burst.txt
echo "Recording $seconds seconds of shop and thumbs ..."
start thumbs 600 $((seconds / 2)) $((seconds * 3 / 4))
thumbs=$started
start shop 600
shop=$started
"$sonde" offcputime -p "$shop,$thumbs" -U --by blocked,cgroup --heatmap --title 'Where they wait' --html waits.html --pprof waits.pb.gz $seconds >/dev/null 2>waits.txt &
waits=$!
"$sonde" profile -p "$shop,$thumbs" -F 199 -U --by cgroup --heatmap --title 'What they compute' --html cpu.html --flame cpu.svg --pprof cpu.pb.gz $seconds >/dev/null 2>cpu.txt
wait $waits
kill $thumbs $shop
echo "Recording $((seconds * 2 / 3)) seconds each of the old and the new release of shop ..."
for release in old new; do
	start shop 600 $(test $release = old || echo new)
	"$sonde" profile -p $started -F 999 -U --title "shop, $release" --pprof $release.pb.gz $((seconds * 2 / 3)) >/dev/null 2>$release.txt
	kill $started
done
"$sonde" diff --html diff.html old.pb.gz new.pb.gz >diff.txt 2>>new.txt
cat <<END
In $(pwd):
  cpu.html     which function uses the processors? which group is it in (the first row)?
               when did something else run? (above, a column a second: click where a time begins and where it ends)
  waits.html   who waits, and in which function?
  diff.html    what has the new release made slower? (diff.txt: the same as text)
Answers: resize_image, of thumbs; shop, in write_audit; rebuild_index, from $(date -d "@$(head -n 1 burst.txt)" +%H:%M:%S) to $(date -d "@$(tail -n 1 burst.txt)" +%H:%M:%S); apply_discounts.
END

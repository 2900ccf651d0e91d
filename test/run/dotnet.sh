#!/bin/sh
# .NET of an Ubuntu release whose packages test/workload/runtimes.py --fetch has unpacked, run in their own tree, where the folder at hand is /mnt.
# dotnet.sh RELEASE ARGUMENT... as dotnet, in the place of this shell; dotnet.sh RELEASE --csc NAME: compiles NAME.cs to NAME.dll. Needs root.
set -e
root=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/$1
shift
for d in lib lib64; do # as base-files has them
	[ -e "$root/$d" ] || ln -s "usr/$d" "$root/$d"
done
mkdir -p "$root/mnt" "$root/proc" "$root/dev" "$root/tmp"
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_EnableDiagnostics=0 HOME=/tmp
if [ "$1" = --csc ]; then
	shared=$(echo "$root"/usr/lib/dotnet/shared/Microsoft.NETCore.App/*)
	csc=$(echo "$root"/usr/lib/dotnet/sdk/*/Roslyn/bincore/csc.dll)
	echo '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"'"${shared##*/}"'"}}}' >"$2.runtimeconfig.json"
	set -- "${csc#"$root"}" -nologo -unsafe -optimize+ -out:"/mnt/$2.dll" "/mnt/$2.cs" $(cd "$root" && printf -- '-r:/%s ' usr/lib/dotnet/shared/Microsoft.NETCore.App/*/System*.dll)
fi
exec unshare -m --propagation private sh -c 'mount --bind "$PWD" "$0/mnt" && mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/lib/dotnet/dotnet "$@"' "$root" "$@"

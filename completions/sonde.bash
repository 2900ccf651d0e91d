# Completion of sonde and its tools for bash. The words come from the program's own help.
_sonde()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]##*/} tool= words
	case $program in
	sonde-*) tool=${program#sonde-} ;;
	*-bpfcc) tool=${program%-bpfcc} ;;
	*) ((COMP_CWORD > 1)) && sonde help tools 2>/dev/null | grep -q "^${COMP_WORDS[1]} " && tool=${COMP_WORDS[1]} ;;
	esac
	case $prev in
	--cgroup) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	-p | --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [1-9]*)" -- "$cur"); return ;;
	--flame | --pprof | -o | --output | --cgroupmap | --mntnsmap) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	esac
	if [[ $cur == -* ]]; then
		words=$({ if [[ $tool ]]; then sonde "$tool" -h; else sonde -h; fi; } 2>/dev/null | grep -oE '^ +-[^ ,]+(, --[a-z-]+)?|^ +--[a-z-]+' | tr -d ',')
	elif [[ ! $tool ]] && ((COMP_CWORD == 1)); then
		words="info help $(sonde help tools 2>/dev/null | cut -d' ' -f1)"
	fi
	if [[ $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _sonde sonde sonde-profile sonde-offcputime sonde-offwaketime sonde-wakeuptime sonde-stackcount

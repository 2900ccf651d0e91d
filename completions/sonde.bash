# Completion of sonde and its tools for bash. `sonde help options [TOOL]` has the words: a line "-x --name VALUE" for each option.
_sonde_value() # of an option whose value is called $1
{
	case $1 in
	FILE* | PATH*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	DIR*) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	PID*) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [1-9]*)" -- "$cur") ;;
	*[a-z]\|*) mapfile -t COMPREPLY < <(compgen -W "${1//|/ }" -- "$cur") ;;
	esac
}

_sonde()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]##*/} tool= words= options value
	case $program in
	sonde-*) tool=${program#sonde-} ;;
	*-bpfcc) tool=${program%-bpfcc} ;;
	*) ((COMP_CWORD > 1)) && sonde help tools 2>/dev/null | grep -q "^${COMP_WORDS[1]} " && tool=${COMP_WORDS[1]} ;;
	esac
	options=$(sonde help options $tool 2>/dev/null)
	value=$(awk -v o="$prev" '$1 == o || $2 == o { print $3; exit }' <<<"$options")
	COMPREPLY=()
	if [[ $prev == -?* && $value && $value != - && $value != \[* ]]; then
		_sonde_value "$value"
		return
	fi
	if [[ $cur == -* ]]; then
		words=$(awk '{ if ($1 != "-") print $1; if ($2 != "-") print $2 }' <<<"$options")
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

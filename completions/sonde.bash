# Completion of sonde and its tools for bash. `sonde help complete PROGRAM WORD...` has the candidates for the last word: a line "WORD<tab>HELP" for each, ":files", ":dirs".
_sonde()
{
	local i word cur=
	local -a words=()
	COMPREPLY=()
	for ((i = 1; i <= COMP_CWORD; i++)); do # bash breaks words at ':' and '='
		word=${COMP_WORDS[i]}
		if ((${#words[@]})) && [[ $word == [:=] || ($word && ${words[-1]} == *[:=]) ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
	done
	((${#words[@]} == 0)) || cur=${words[-1]}
	while IFS=$'\t' read -r word _; do
		case $word in
		:files) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
		:dirs) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
		*) COMPREPLY+=("$word") ;;
		esac
	done < <(sonde help complete "${COMP_WORDS[0]}" "${words[@]}" 2>/dev/null)
	[[ ${COMPREPLY[*]} != *[:/=,] ]] || compopt -o nospace 2>/dev/null
	[[ $cur != *[:=]* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*[:=]}"}"}")
}
complete -F _sonde sonde sonde-profile sonde-offcputime sonde-offwaketime sonde-wakeuptime sonde-stackcount

#!/usr/bin/env zsh
# complete.zsh FOLDER LINE...: what an interactive zsh with the completion functions of FOLDER offers at the end of each line; a line of words for each, sorted.
emulate -R zsh
zmodload zsh/zpty zsh/zselect
folder=$1 out=$(mktemp) begun=$(mktemp)
shift
: >$out
zpty shell zsh -f -i
{
	zpty -w shell "PS1=; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -D"
	# what compadd would add, but where it only fills arrays for its caller
	zpty -w shell "compadd() { local -a hits; if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return; fi; builtin compadd -A hits \"\$@\"; print -rl -- \$hits >>$out; builtin compadd \"\$@\"; }"
	zpty -w shell "told() { _main_complete; print -r -- 'END OF WORDS' >>$out; compstate[insert]= compstate[list]=; }; zle -C told complete-word told; bindkey '^I' told; print begun >$begun"
	for ((i = 0; i < 500; i++)); do
		[[ -s $begun ]] && break
		zselect -t 2
	done
	for line in "$@"; do
		: >$out
		zpty -w -n shell "$line"$'\t'
		for ((i = 0; i < 500; i++)); do
			[[ "$(<$out)" == *'END OF WORDS' ]] && break
			zselect -t 2
		done
		print -r -- ${(ou)${(f)"$(grep -v '^END OF WORDS$' $out)"}}
		zpty -w -n shell $'\x15'
	done
} always {
	zpty -d shell
	rm -f $out $begun
}

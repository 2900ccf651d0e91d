# Completion of sonde and its tools for fish. `sonde help complete PROGRAM WORD...` has the candidates for the last word: a line "WORD<tab>HELP" for each, ":files", ":dirs".
function __sonde_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	for line in (sonde help complete $words "$cur" 2>/dev/null)
		switch $line
			case :files
				__fish_complete_path "$cur"
			case :dirs
				__fish_complete_directories "$cur" ''
			case '*'
				printf '%s\n' $line
		end
	end
end
for program in sonde sonde-profile sonde-offcputime sonde-offwaketime sonde-wakeuptime sonde-stackcount
	complete -c $program -f -a '(__sonde_complete)'
end

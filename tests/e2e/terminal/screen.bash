# Terminals of their own (screen.py) for tests. Sourced after lib.sh; $pids is killed at the end.
screen() { # name, program...
	local name=$1
	shift
	TERM=xterm-256color COLORTERM=truecolor TERM_PROGRAM=screen.py python3 "$here/terminal/screen.py" "$t/$name.sock" "$@" 2>"$t/$name.err" &
	pids="$pids $!"
	wait_for 30 test -S "$t/$name.sock"
}
to() { python3 "$here/terminal/to.py" "$t/$1.sock" "$2"; } # name, command
events() { "$sg" events "$1" --json 2>/dev/null; }
session() {
	basename "$(ls -t "${SANDGLASS_SESSIONS:-$HOME/.local/share/sandglass/sessions}"/*.glass | head -1)" .glass | sed 's/.*-/s-/'
}

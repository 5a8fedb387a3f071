# For end-to-end tests: TAP, removed directories, ended sessions. Sourced; SANDGLASS names the program.
set -u
: "${SANDGLASS:?the program under test}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
t=$(mktemp -d)
chmod 755 "$t"
export HOME=$t/home XDG_RUNTIME_DIR=$t/run LC_ALL=${LC_ALL:-C} GIT_CONFIG_NOSYSTEM=1
# recorded events that are not as declared (src/wire/event_check.h); finish reports them
export EVENT_CHECK=${EVENT_CHECK:-$t/event_check}
[ -e "$EVENT_CHECK" ] || { : >"$EVENT_CHECK" && chmod 666 "$EVENT_CHECK"; }
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME SANDGLASS_SESSIONS FAILPOINT
mkdir -p "$HOME" "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
git config --global user.name tester
git config --global user.email tester@example.org
git config --global init.defaultBranch main
n=0 bad=0
ok() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
		bad=1
		echo "not ok $n - $2"
		told
	fi
}
told() { # what the failed test has last looked at: a terminal's screen, or a program's output
	local of=$t/out
	[ "$t/screen" -nt "$of" ] && of=$t/screen
	[ -f "$of" ] && grep -v '^ *$' "$of" | tail -40 | sed 's/^/#   /'
}
is() { # got, want, name
	if [ "$1" = "$2" ]; then ok 0 "$3"; else
		ok 1 "$3"
		printf '#   got  %s\n#   want %s\n' "$1" "$2"
	fi
}
like() { # text, extended regular expression, name
	if printf '%s' "$1" | grep -qE -- "$2"; then ok 0 "$3"; else
		ok 1 "$3"
		printf '%s\n' "$1" | tail -25 | sed 's/^/#   got  /'
		printf '#   want match of %s\n' "$2"
	fi
}
unlike() {
	if printf '%s' "$1" | grep -qE -- "$2"; then ok 1 "$3"; printf '#   no match wanted of %s\n' "$2"; else ok 0 "$3"; fi
}
fails() { # name, "STATUS CODE WORD...", command...: fails with this status and error code; its error names these words
	local name=$1 want=$2 out got word
	shift 2
	out=$("$1" --json "${@:2}" 2>/dev/null </dev/null)
	got="$? $(jq -r '.error.code // empty' <<<"$out" 2>/dev/null | tail -1)"
	out=$(jq -r '.error // empty | .text, .hint // empty' <<<"$out" 2>/dev/null)
	for word in $(cut -d' ' -f3- <<<"$want"); do
		grep -qF -- "$word" <<<"$out" && got="$got $word"
	done
	is "$got" "$want" "$name"
}
skip() { n=$((n + 1)); echo "ok $n # skip $1"; }
finish() {
	if [ -s "$EVENT_CHECK" ]; then
		sort -u "$EVENT_CHECK" >"$t/out"
		ok 1 'recorded events are as src/*/events.def declare them'
	fi
	echo "1..$n"
	exit "$bad"
}
end_all() {
	for s in "$XDG_RUNTIME_DIR"/sandglass/*.sock; do
		[ -S "$s" ] || continue
		id=${s##*/}
		timeout 10 "$SANDGLASS" stop --now -S "${id%.sock}" >/dev/null 2>&1
	done
	sleep 0.2
	rm -rf "$t" 2>/dev/null
}
trap end_all EXIT
wait_for() { # seconds, command...: until it succeeds; on a busy machine little takes long, so never less than 30
	local until=$((SECONDS + ($1 < 30 ? 30 : $1)))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || { echo "waited in vain for: $*" >&2; return 1; }
		sleep 0.1
	done
}
sees() { # extended regular expression, name: the terminal that the test's own "shows" looks at comes to show it
	wait_for 30 shows "$1"
	ok $? "$2"
}
tmux_end() { # tmux and its options: the server, wholly, so that another one can have its socket
	local pid
	pid=$("$@" display-message -p '#{pid}') || return 0
	"$@" kill-server
	wait_for 60 sh -c '! kill -0 "$1" 2>/dev/null' - "$pid"
}
# The process of a session's supervisor, if alive: a kill must not hit a later process with the same number.
supervisor() { # session
	local pid
	pid=$(head -1 "$HOME"/.local/share/sandglass/sessions/*-"${1#s-}".glass-lease 2>/dev/null | cut -d' ' -f1)
	[ -n "$pid" ] && [ "/proc/$pid/exe" -ef "$SANDGLASS" ] && echo "$pid"
}
# Can boxes with namespaces be opened here? Only the program's own word that the machine cannot counts as no: a box that
# is broken must fail the test, not skip it. tests/suite has tried it once for all of its scripts (BOXES_OPEN).
boxes() {
	[ -z "${NO_BOXES:-}" ] && { [ -n "${BOXES_OPEN:-}" ] || XDG_DATA_HOME=$t/try XDG_STATE_HOME=$t/try "$SANDGLASS" sandbox exec -- true >"$t/boxes" 2>&1 || ! grep -q 'reduced is possible' "$t/boxes"; }
}
# Sets accept: what run needs for a script that asks nobody, where only reduced boxes can be opened (there no default allows).
accept_any() {
	accept=
	boxes && return
	printf 'return require("sandglass.policy").rules { default = "boxed" }\n' >"$t/any.lua"
	accept="--accept reduced --policy $t/any.lua"
}
# The programs that a test cannot do without, by which it knows better than from us.
need() { # program...
	local p
	for p; do
		command -v "$p" >/dev/null || { skip "needs $p (make deps)"; finish; }
	done
}
need_boxes() {
	boxes && return
	skip "no boxes with namespaces here: $(tail -1 "$t/boxes" 2>/dev/null)"
	finish
}

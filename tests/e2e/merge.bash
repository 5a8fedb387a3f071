# For tests of merges: repositories, sessions with work for them, and the commands. Sourced after lib.sh; goes to $t.
sg=$SANDGLASS
need_boxes
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
repo() { git init -q "$1" && printf 'one\ntwo\nthree\n' >"$1/a.txt" && git -C "$1" add -A && git -C "$1" commit -qm base; }
long_repo() { # name: two sandboxes can change different lines of its a.txt
	git init -q "$1"
	seq -f 'line %g' 30 >"$1/a.txt"
	echo two >"$1/b.txt"
	echo gone >"$1/gone.txt"
	echo '*.log' >"$1/.gitignore"
	git -C "$1" add -A
	git -C "$1" commit -qm base
}
work() { "$sg" sandbox exec --repo "$1" -- sh -c "$2" </dev/null >log 2>&1 || cat log; } # repository, commands
asks() { "$sg" ls --waiting | grep -q "^$id#"; }
has_ended() { "$sg" ls --json 2>/dev/null | grep "$id" | grep -q '"state":"ended"'; }
# 0, or 1 for any refusal
merge() { "$sg" merge --json "$@" </dev/null >out 2>err || return 1; }
undo() { "$sg" undo --json "$@" </dev/null >out 2>err || return 1; }
refs() { git -C "$1" for-each-ref --format='%(refname)' refs/heads/sandglass refs/sandglass | wc -l; } # repository

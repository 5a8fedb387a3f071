# For login.sh and login_tls.sh: a vendor outside the sandbox, its program in PATH, and sessions with that program.
# Sourced after lib.sh.
need_boxes
need python3
sg=$SANDGLASS pids=
stop_vendor() { for p in $pids; do kill "$p" 2>/dev/null; done; end_all; }
trap stop_vendor EXIT
vendor() { # program: $VENDOR_URL answers, server/ has what it knows, repo is a repository
	program=$1
	cd "$t" || exit 1
	export no_proxy=127.0.0.1,localhost VENDOR_LOG=$t/refreshes
	mkdir -p vendor/bin server repo "$HOME/.$program"
	cp "$here/login/$program" vendor/bin/
	PATH=$t/vendor/bin:$PATH
	python3 "$here/login/vendor.py" server >port & pids=$!
	wait_for 30 test -s port
	export VENDOR_URL=http://127.0.0.1:$(cat port)
	git -C repo init -q && echo one >repo/a && git -C repo add a && git -C repo commit -qm one
}
agent() { # arguments...: what the agent saw in $seen, its session in $s
	s=$("$sg" run --agent "$program" -i -d --repo repo -- "$@" 2>"$t/out")
	wait_for 60 sh -c '"$1" events "$2" --json 2>/dev/null | grep -q "\"kind\":\"session.end\""' - "$sg" "$s"
	rm -rf tree
	"$sg" tree "$s" -o tree >/dev/null 2>&1
	seen=$(cat tree/seen.json 2>/dev/null)
}
from() { python3 -c "import json, sys; v = json.loads(sys.argv[1]); print($2)" "$1"; } # JSON, expression of v
refreshes() { grep -c refresh refreshes; }
no_token_kept() {
	is "$(grep -rlaE 'token-REAL|grant-[0-9]' "$HOME/.local/share/sandglass" "$HOME/.local/state" "$XDG_RUNTIME_DIR" tree repo 2>/dev/null | wc -l)" 0 "no token is in a recording, a sandbox, a repository"
}

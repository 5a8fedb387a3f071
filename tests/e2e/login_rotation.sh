#!/usr/bin/env bash
# Several sandboxes on one login whose token expires again and again: one refresh for each expiry, no sandbox is logged out, and the vendor's
# file is valid at any time. Then the refresh token is gone. Each token lives for about a second, for the 8 hours of a real one. LONG=1: 24
# sandboxes and the 21 expiries of seven days.
. "$(dirname "$0")/lib.sh"
. "$here/login/vendor.bash"
unset ANTHROPIC_API_KEY
vendor claude
export ANTHROPIC_BASE_URL=$VENDOR_URL
boxes=3 expiries=4
[ -z "${LONG:-}" ] || boxes=24 expiries=21
file=$HOME/.claude/.credentials.json
login() { # number of the token, seconds until it expires
	printf 'token-REAL-%06d' "$1" >server/valid
	printf 'grant-%d' "$1" >server/grant
	printf '{"claudeAiOauth":{"accessToken":"token-REAL-%06d","refreshToken":"grant-%d","expiresAt":%d000,"scopes":["user:inference"],"subscriptionType":"max"}}' \
		"$1" "$1" $(($(date +%s) + $2)) >"$file.new"
	mv "$file.new" "$file"
	: >refreshes
}
start() { # requests of each sandbox, seconds between them: $sessions
	sessions=
	for _ in $(seq "$boxes"); do sessions="$sessions $("$sg" run --agent claude -i -d --repo repo -- "$@" 2>"$t/out")"; done
}
over() { for s in $sessions; do "$sg" events "$s" --json 2>/dev/null | grep -q '"kind":"session.end"' || return; done; }
statuses() { # of all sandboxes' requests, each once
	for s in $sessions; do
		rm -rf tree
		"$sg" tree "$s" -o tree >/dev/null 2>&1
		cat tree/seen.json >>seen
		python3 -c 'import json; print(*[a[0] for a in json.load(open("tree/seen.json"))["answers"]])' 2>/dev/null || echo none
	done | tr ' ' '\n' | sort -u | tr '\n' ' '
}
# A user's own program reads the file at any time.
watch() {
	python3 - "$file" <<'P'
import json, os, sys
bad = 0
while not os.path.exists("watched"):
    try:
        oauth = json.load(open(sys.argv[1]))["claudeAiOauth"]
        bad += not (oauth["accessToken"].startswith("token-REAL-") and oauth["refreshToken"].startswith("grant-"))
    except (OSError, ValueError, KeyError):
        bad += 1
print(bad)
P
}

login 1 303
echo 301 >server/life # sandglass renews a token in its last 300 s
"$sg" login add claude --yes >"$t/out" 2>&1
is $? 0 "the login is added"
watch >bad &
watcher=$!
start $((3 * expiries)) 0.5
wait_for 300 over
ok $? "$boxes sandboxes come to their end"
touch watched
wait "$watcher"
is "$(statuses)" '200 ' "no request of theirs was refused"
issued=$(($(grep -oE '[0-9]+$' server/grant) - 1))
[ "$issued" -ge "$expiries" ]
ok $? "the token expired at least $expiries times ($issued)"
is "$(refreshes) $(sort -u refreshes | wc -l)" "$issued $issued" "each expiry was one refresh, with a refresh token of its own"
is "$(cat bad)" 0 "the vendor's file was valid at any time"
is "$(grep -o '"home"' seen | wc -l) $(grep -c 'token-REAL\|grant-' seen)" "$boxes 0" "no sandbox saw a token"

# --- gone, for all of them ---
login 100 -60
: >server/grant
sum=$(sha256sum "$file")
start 2 0
wait_for 300 over
is "$(statuses)" '529 ' "a refresh token that is gone: no sandbox gets the vendor's refusal"
for s in $sessions; do "$sg" events "$s" --json | grep -q '"state":"login"' && echo yes; done >states
is "$(grep -c yes states)" "$boxes" "the state of each is LOGIN"
is "$(refreshes)" 1 "the vendor was asked once"
is "$(sha256sum "$file")" "$sum" "its file is untouched"
no_token_kept
finish

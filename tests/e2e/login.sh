#!/usr/bin/env bash
# A vendor's login for agents in sandboxes: a placeholder inside, the token outside and for each request, one refresh
# for all, an expired login. No token leaks.
. "$(dirname "$0")/lib.sh"
. "$here/login/vendor.bash"
unset ANTHROPIC_API_KEY
vendor claude
export ANTHROPIC_BASE_URL=$VENDOR_URL
login() { # number of the token, seconds until it expires
	printf 'token-REAL-%06d' "$1" >server/valid
	printf 'grant-%d' "$1" >server/grant
	python3 - "$1" "$2" >"$HOME/.claude/.credentials.json" <<'P'
import json, sys, time
print(json.dumps({"claudeAiOauth": {"accessToken": "token-REAL-%06d" % int(sys.argv[1]), "refreshToken": "grant-%s" % sys.argv[1],
    "expiresAt": int((time.time() + float(sys.argv[2])) * 1000), "scopes": ["user:inference"], "subscriptionType": "max", "rateLimitTier": "t1"}, "other": 1}))
P
	: >refreshes
	: >server/requests
}

# --- by name, with consent ---
login 1 3600
echo '{"oauthAccount":{"emailAddress":"me@example.org"}}' >"$HOME/.claude.json"
"$sg" login add claude </dev/null >"$t/out" 2>&1
is $? 2 "without consent it is not added"
like "$("$sg" login add claude --yes --json)" '"account":"me@example.org"' "added: whose it is"
like "$("$sg" login ls --json)" '"plan":"max".*"state":"valid"' "listed: its plan and state"
is "$(grep -rc 'token-REAL\|grant-' "$HOME/.local/share/sandglass/logins/claude.json")" 0 "no token is kept by us"

# --- a placeholder inside, the token outside ---
agent 1
is "$(from "$seen" 'v["answers"][0][0]')" 200 "a request passes"
like "$(from "$seen" 'v["home"]["claudeAiOauth"]')" "'accessToken': 'sk-sg-.*'refreshToken': 'none'.*'subscriptionType': 'max'" "the sandbox has a placeholder in the vendor's shape"
is "$(from "$seen" 'v["home"]["claudeAiOauth"]["expiresAt"] > 2e12')" True "that never expires"
is "$(from "$seen" '"ANTHROPIC_API_KEY" in v["env"]')" False "and no key"
is "$(from "$(head -1 server/requests)" 'v["good"], v["app"], v["beta"]')" 'True cli oauth-2025-04-20' "the vendor got the token and the program's own headers"
is "$(from "$(head -1 server/requests)" 'v["body"]')" '{"model": "m-1", "max_tokens": 10, "messages": [{"role": "user", "content": "go  on \u00e9"}], "odd": [1, 2.5, null]}' \
	"and the program's own bytes"
is "$(from "$seen" '[a[0] for a in v["hostile"]]')" "[403, 403, 403, 403, 403]" "token, authorize and revoke paths, other hosts and other credentials are refused"
is "$(grep -c . server/requests)" 1 "and reach nobody"
is "$("$sg" events "$s" --json | grep -c '"kind":"proxy.refused"')" 5 "each is recorded"
is "$(refreshes)" 0 "a token that is good is not refreshed"

# --- refreshed once ---
login 2 60
asking=
for i in $(seq 24); do "$sg" login_token claude > >(cat >"token.$i") & asking="$asking $!"; done
wait $asking
wait_for 30 sh -c 'test $(cat token.* | grep -c token-REAL) = 24'
is "$(refreshes)" 1 "24 that meet an expiring token: one refresh"
is "$(cat token.* | grep -c 'token-REAL-000003')" 24 "all have the new one"
is "$(from "$(cat "$HOME/.claude/.credentials.json")" 'v["other"], v["claudeAiOauth"]["refreshToken"]')" '1 grant-3' "the vendor's file is the vendor's"
is "$(cat refreshes.streams)" '/dev/null /dev/null /dev/null' "its program has three standard streams, so that no file of its own receives its output"

# --- its process can do nothing but read ---
login 3 60
mkfifo given
flock "$HOME/.local/share/sandglass/logins/claude.lock" sh -c 'read x <given' &
"$sg" login_token claude > >(cat >token.1) &
reader=$!
confined() { grep -q '^Seccomp:.2$' "/proc/$reader/status" && grep -q '^NoNewPrivs:.1$' "/proc/$reader/status"; }
wait_for 30 confined
ok $? "the process that reads a login has a system call filter"
is "$(ls "/proc/$reader/fd" | tr '\n' ' ')" '2 3 4 5 ' "and no descriptor beside its answer, its helper, and its lock"
echo >given
wait "$reader"
has_token() { grep -q token-REAL-000004 token.1; }
wait_for 30 has_token
ok $? "it refreshes all the same"
login 4 3600
printf 'token-REAL-%06d' 9 >server/valid
agent 2
is "$(from "$seen" '[a[0] for a in v["answers"]]')" "[200, 200]" "a token that upstream refuses is refreshed, and the request repeated"
is "$(refreshes)" 1 "once"
unlike "$seen" 'token-REAL|grant-' "the sandbox saw none of it"

# --- gone ---
login 5 -60
: >server/grant
sum=$(sha256sum "$HOME/.claude/.credentials.json")
agent 2
is "$(from "$seen" '[a[0] for a in v["answers"]]')" "[529, 529]" "a login that is gone: not the vendor's 401"
like "$("$sg" events "$s" --json | grep '"state":"login"' | head -1)" 'claude auth login' "the state says so, with the command"
is "$(refreshes)" 1 "the vendor was asked once"
is "$(sha256sum "$HOME/.claude/.credentials.json")" "$sum" "the vendor's file is untouched"
like "$("$sg" login ls --json)" '"state":"expired"' "and listed as such"

# --- nowhere ---
login 7 3600
cp "$here/login/find_token.py" repo/
find_token() { python3 "$here/login/find_token.py" "$@" >found 2>read; }
find_token "$HOME/.claude"
is $? 1 "a search for a token finds the vendor's own file"
s=$("$sg" run --agent claude -i -d --repo repo -- 1 0 look 2>"$t/out")
has_seen() { "$sg" events "$s" --json 2>/dev/null | grep '"kind":"output"' | grep -q '"stream":3'; }
wait_for 60 has_seen
find_token -p "$(supervisor "$s")"
is "$? $(cat found)" '0 ' "root finds none in memory, environment, and arguments of the processes in a sandbox"
like "$(cat read)" ' ([3-9]|[1-9][0-9]+) processes, [0-9]{7,} bytes' "which it has read"
"$sg" stop --now -S "$s" >"$t/out" 2>&1
wait_for 60 sh -c '"$1" events "$2" --json 2>/dev/null | grep -q "\"kind\":\"session.end\""' - "$sg" "$s"
rm -rf tree && "$sg" tree "$s" -o tree >/dev/null 2>&1
is "$(from "$(cat tree/seen.json)" 'v["answers"][0][0], v["read"]')" '200 0' "a program inside, after its model has answered, finds none in processes and files"
like "$(from "$(cat tree/seen.json)" 'v["found"]')" ' [1-9] processes, [0-9]{7,} bytes' "which it has read"
no_token_kept
"$sg" search token-REAL >"$t/out" 2>&1
unlike "$(cat "$t/out")" 's-' "search finds none"
"$sg" login rm claude
is "$("$sg" login ls 2>"$t/err" | wc -l) $(wc -l <"$t/err")" '0 2' "removed; the empty list says how to add one"
finish

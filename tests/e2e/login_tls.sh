#!/usr/bin/env bash
# A login of a vendor whose program insists on https: TLS for its host ends here, in a process of its own; a placeholder
# inside, the token outside, the program's own bytes upstream, other hosts and paths refused.
. "$(dirname "$0")/lib.sh"
. "$here/login/vendor.bash"
need zstd
unset OPENAI_API_KEY
vendor codex
export SANDGLASS_CHATGPT_URL=$VENDOR_URL
login() { # seconds until it expires: a login of the vendor's own program
	printf 'grant-1' >server/grant
	python3 "$here/login/codex_auth.py" "$1" grant-1 server/valid >"$HOME/.codex/auth.json"
	: >refreshes
	: >server/requests
}
request() { sed -n "$1p" server/requests; }

login 3600
like "$("$sg" login add codex --yes --json)" '"account":"me@example.org".*"account_id":"acc-1"' "added: whose it is"
like "$("$sg" login ls --json)" '"plan":"plus".*"state":"valid"' "listed: its plan and state"
touch repo/mute
agent
rm repo/mute
is "$(from "$seen" 'v["account"]')" "[200, '{\"accounts\": [{\"id\": \"acc-1\"}]}']" "over https it gets its account"
is "$(from "$seen" 'v["model"][0], v["plain"][0]')" '200 200' "and its model, with a compressed body and a plain one"
is "$(from "$(request 1)" 'v["good"], v["account"]')" "True acc-1" "the vendor got the token and the program's own headers"
is "$(from "$(request 2)" 'v["good"], v["coding"], v["hex"]')" 'True zstd 28b52ffd' "and the program's own compressed bytes"
is "$(from "$(request 3)" 'v["body"]')" '{"model": "m-1", "input": [{"role": "user", "content": "go  on"}], "odd": [1, 2.5]}' "or plain ones"
is "$(from "$seen" 'v["socket"][0]')" 426 "a WebSocket is turned down so that it falls back at once"
is "$(from "$seen" '[v["hostile"][k][0] for k in ("other path", "own token", "other host inside")]')" '[403, 403, 403]' "other paths, other credentials, and other hosts inside are refused"
like "$(from "$seen" 'v["hostile"]["other host"]')" '403' "another host has no way out"
is "$(from "$seen" 'v["hostile"]["no trust"][0]')" ssl "a program without the certificate gets no connection"
is "$(from "$seen" 'v["hostile"]["mute"]')" "[64, '403', '']" "a program that doesn't begin TLS gets some connections and loses them"
is "$(grep -c . server/requests)" 4 "none of that reached the vendor"
like "$("$sg" events "$s" --json | grep '"kind":"super.warn"' | head -1)" "TLS for chatgpt.com" "a failed handshake is a warning of the session"
is "$("$sg" events "$s" --json | grep -c '"kind":"proxy.refused"')" 6 "each refusal is recorded"
is "$("$sg" events "$s" --json | grep '"kind":"model.call"' | sed 's/.*"messages"/"messages"/' | sort | uniq -c | awk '{ print $1 }')" 2 "compressed or not, a call of the model is recorded as the same"
is "$(from "$seen" 'v["echo"][0], "token-REAL" in str(v["echo"])')" '200 False' "a vendor that gives the token back gives it to no sandbox"
is "$(from "$seen" 'v["home"]["tokens"]["refresh_token"]')" none "the sandbox has no refresh token"
unlike "$seen" 'token-REAL|grant-' "and no token"
is "$(refreshes)" 0 "a token that is good is not refreshed"
is "$(pgrep -f "$(dirname "$sg")/sandglass-tls" | wc -l)" 0 "the process that ends TLS ends with its session"

# --- a token that expires: refreshed by the vendor's program, once ---
login 30
agent
is "$(from "$seen" 'v["account"][0], v["model"][0]')" '200 200' "an expiring token is refreshed outside"
is "$(refreshes)" 1 "once"
unlike "$seen" 'token-REAL|grant-' "the sandbox saw none of it"
no_token_kept

# --- a token that the vendor refuses on a path beside the model: replaced, and none of the refusal comes inside ---
login 3600
printf revoked >server/valid
agent
is "$(from "$seen" 'v["account"][0]')" 200 "a refused token is replaced outside"
is "$(grep -c accounts server/requests) $(grep accounts server/requests | grep -c '"good": true')" '2 1' "the request is sent again, with the new one"
is "$(refreshes)" 1 "which the vendor's program got"
unlike "$seen" 'token-REAL|grant-' "the sandbox saw none of it"

# --- a resumed session has another authority ---
login 3600
touch repo/wait
s=$("$sg" run --agent codex -i -d --repo repo 2>"$t/out")
asked() { [ "$(grep -c accounts server/requests)" -ge "$1" ]; }
wait_for 60 asked 1
kill -9 "$("$sg" events "$s" --json | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
"$sg" resume "$s" -d >"$t/out" 2>&1
wait_for 60 asked 2
ok $? "resumed, it trusts the new one"
is "$(grep -c '"good": true' server/requests)" 2 "and its token is put on as before"
"$sg" stop --now -S "$s" >"$t/out" 2>&1
finish

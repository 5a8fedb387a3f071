#!/usr/bin/env bash
# Credentials that a sandbox uses without having them: real git against git http-backend, npm and pip against registries
# that require a key. A push waits for approval with the refs that it would move, however it was started.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v python3 >/dev/null && [ -x "$(git --exec-path)/git-http-backend" ] || { skip "needs python3 and git's http-backend"; finish; }
sg=$SANDGLASS key=sk-REAL-7731
export REAL=$key no_proxy=127.0.0.1,localhost
cd "$t" || exit 1
mkdir up
git init -q --bare up/app.git
git init -q seed
echo one >seed/a
git -C seed add a
git -C seed commit -qm one
git -C seed push -q ../up/app.git HEAD:main
python3 "$here/inside/server.py" log "$t/up" >port 2>server.err &
server=$!
trap 'kill $server 2>/dev/null; end_all' EXIT
wait_for 30 test -s port
cat >in.lua <<'L'
local sg = require "sandglass"
local a = sg.args { port = "", "cmd" }
local base, key = "http://127.0.0.1:" .. a.port, sg.secret "REAL"
local px <close> = sg.proxy { name = "out", routes = {
  git = { url = base .. "/git", git = true, basic = { user = "me", password = key } },
  npm = { url = base .. "/npm", rewrite = true, header = { authorization = { "Bearer ", key } } },
  pypi = { url = base .. "/simple", rewrite = true, header = { authorization = { "Bearer ", key } } },
} }
local box <close> = sg.sandbox { proxies = { px }, trace = "exec", env = {
  GIT = px.urls.git, GIT_CONFIG_COUNT = "1", GIT_CONFIG_KEY_0 = "url." .. px.urls.git .. "/.insteadOf", GIT_CONFIG_VALUE_0 = "https://git.example.org/",
  npm_config_registry = px.urls.npm, npm_config_cache = "/tmp/npm", PIP_INDEX_URL = px.urls.pypi, PIP_DISABLE_PIP_VERSION_CHECK = "1",
} }
assert(box:write("do.sh", a.cmd .. "\n"))   -- so that no rule sees in its words what it does
local r = assert(box:exec({ "sh", "do.sh" }, { timeout = "60s" }))
print(r.out .. r.err)
L
events() { "$sg" events "$file" --json 2>/dev/null; }
printed() { events | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    if e["kind"] == "note": print(e["body"].get("text"))'; }
run() { # command: its output in $out
	timeout 90 "$sg" run --no-tui --no-input ${rules:+--policy $rules} in.lua -- --port "$(cat port)" "$1" >"$t/out" 2>&1 </dev/null
	file=$(ls -t "$HOME"/.local/share/sandglass/sessions/*.glass | head -1)
	out=$(printed)
}
rules=
main() { git -C up/app.git rev-parse main; }
cat >rules.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.ask "no-push" { cmd = "git push *", why = "publishing needs a person" } }
L
G='git -c user.name=a -c user.email=a@example.org'
work="git clone -q https://git.example.org/app.git w && cd w && echo two >a && $G commit -qam two"

# --- git: to fetch needs nobody, to push does ---
was=$(main)
run "$work && git push -q origin HEAD:main; echo pushed \$?; echo found:\$(env | grep -c REA[L]-7731):\$(grep -rc REA[L]-7731 .git | grep -vc ':0')"
like "$out" 'pushed (1|128)' "a clone by a name that the box believes in; a push that nobody allows ends"
like "$out" 'remote rejected.*sandglass: denied: no user to ask' "and git says why"
is "$(main)" "$was" "and moves nothing"
is "$(grep -c 'POST.*git-receive-pack' log)" 0 "no byte of it has left"
like "$out" 'found:0:0' "the key is not in the box"
is "$(grep -c ' bad$' log)" 0 "and was on the wire each time"
like "$(events | grep '"kind":"action.requested"' | grep '"git push"')" '"ref":"refs/heads/main"' "the action names the ref"
is "$(events | grep '"kind":"action.requested"' | grep '"git push"' | grep -c "\"old\":\"$was\"")" 1 "and where it stands"
rules=rules.lua
run "$work && git push -q origin HEAD:main; echo pushed \$?"
like "$out" 'remote rejected.*denied by rule no-push: .*no user' "a rule over commands denies it, too, and git prints the reason"
: >log
run "$work && B=\$GIT/app.git && for p in git-receive-pac%6b %67it-receive-pack git-receive-pack/ objects/info/packs; do
	curl -sS -o /dev/null -w '%{http_code} ' -X POST --data-binary 0000 \$B/\$p; done
	printf 'x' | gzip | curl -sS -o /dev/null -w '%{http_code} ' -H 'content-encoding: gzip' --data-binary @- \$B/git-receive-pack
	curl -sS -o /dev/null -w '%{http_code}' -X DELETE \$B/git-receive-pack"
like "$out" '403 403 403 403' "other ways to the same place are refused"
is "$(grep -c 'packs\|DELETE\|receive-pack/\|pac%6b\|%67it' log)" 0 "and ask nothing outside; an odd spelling is sent as what it stands for"
is "$(events | grep -c '"kind":"proxy.refused"')" 4 "each is recorded"

# --- a person allows one; more than git sends in one piece ---
id=$("$sg" run -d --policy rules.lua in.lua -- --port "$(cat port)" \
	"$work && head -c 3000000 /dev/urandom >big && git add big && $G commit -qm big && git tag v1
	git push -q origin HEAD:main v1; echo pushed \$?" </dev/null 2>"$t/out")
file=$(echo "$HOME"/.local/share/sandglass/sessions/*-"${id#s-}".glass)
held() { "$sg" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
is_held() { [ -n "$(held)" ]; }
wait_for 60 is_held
ok $? "a push waits for a person"
like "$("$sg" state -S "$id" --json)" 'refs/heads/main' "who sees the refs that it would move"
is "$(main)" "$was" "meanwhile nothing has moved"
"$sg" approve "$(held)" -S "$id" >"$t/out" 2>&1
ended() { ! "$sg" ls --live 2>/dev/null | grep -q "$id"; }
wait_for 60 ended
like "$(printed)" 'pushed 0' "allowed, it goes out"
is "$(git -C up/app.git log --format=%s main | tr '\n' ' ')" 'big two one ' "with all of it"
is "$(git -C up/app.git rev-parse v1)" "$(main)" "both refs"

# --- registries ---
: >log
if [ -x /usr/bin/npm ]; then
	run "cd /tmp && npm install --silent small && node -e 'console.log(\"npm:\", require(\"small\"))'"
	like "$out" 'npm: from the registry' "npm installs from a registry that wants a key"
	is "$(grep -c 'tgz ok$' log)" 1 "the package, too, comes by the proxy"
else
	skip "npm is not in /usr/bin"
fi
if /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
	run "/usr/bin/python3 -m pip install -q --no-cache-dir --target /tmp/p small
	PYTHONPATH=/tmp/p /usr/bin/python3 -c 'import small; print(\"pip:\", small.WORD)'"
	like "$out" 'pip: from the registry' "pip does"
	is "$(grep -c 'whl ok$' log)" 1 "and its package comes that way"
else
	skip "pip is not in /usr/bin"
fi
is "$(grep -c ' bad$' log)" 0 "the key was on the wire each time"
run 'curl -sS -o /dev/null -w "%{http_code}" -X PUT --data x $npm_config_registry/small'
like "$out" '403' "publishing is not on the route's list"
is "$(grep -c PUT log)" 0 "and asks nothing outside"
"$sg" verify "$file" >"$t/out" 2>&1
ok $? "the record verifies"
is "$(grep -rlF "$key" "$HOME" "$XDG_RUNTIME_DIR" 2>/dev/null | wc -l)" 0 "the key is in no file"
is "$(grep -rlF "$(printf 'me:%s' $key | base64)" "$HOME" 2>/dev/null | wc -l)" 0 "nor as git sends it"
finish

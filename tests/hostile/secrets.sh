#!/usr/bin/env bash
# Secrets in the workspace, planted in each kind of file: they can't be read in the sandbox and are not in the
# recording. The sandbox names the hidden files, and `expose` shows one of them.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
repo=$t/repo
mkdir -p "$repo/.aws" "$repo/sub" "$repo/.ssh" && git init -q "$repo"
k=canary-4418
plant() { printf '%s\n' "$2" >"$repo/$1"; }
plant .env "TOKEN=$k-env"
plant .env.local "TOKEN=$k-envlocal"
plant sub/.env "TOKEN=$k-subenv"
plant server.pem "-----BEGIN PRIVATE KEY-----
$k-pem
-----END PRIVATE KEY-----"
plant .ssh/id_rsa "-----BEGIN OPENSSH PRIVATE KEY-----
$k-rsa
-----END OPENSSH PRIVATE KEY-----"
plant .npmrc "//registry.example.org/:_authToken=$k-npm"
plant .netrc "machine example.org login me password $k-netrc"
plant .git-credentials "https://me:$k-gitcred@example.org"
plant .aws/credentials "[default]
aws_secret_access_key = $k-aws"
# every other name and ending that a box hides
more=(tls.key x.p12 y.pfx z.jks a.keystore b.kdbx c.ppk prod.tfvars .pypirc .htpasswd .pgpass .vault-token kubeconfig .boto .s3cfg _netrc
	secrets.yaml secrets.json secrets.toml credentials-prod.json service-account-x.json id_dsa id_ecdsa id_ed25519)
mkdir "$repo/.kube" "$repo/.docker" "$repo/.gnupg" "$repo/.azure"
for f in "${more[@]}" .kube/config .docker/config.json .gnupg/ring .azure/token; do plant "$f" "value = $k-more"; done
git -C "$repo" remote add origin "https://me:$k-url@example.org/x.git"
token=ghp_R7kQ2mZp9X # in two pieces, so that this file is not hidden itself
token=${token}vTs4LwB8nYc6HdJ3fGa5KeUt1o
plant secrets.yml "github: $token"
plant plain.txt 'nothing to hide'
mkdir -p "$repo/src" && plant src/settings.py "TOKEN = '$token'"
plant notes.txt "not committed: $token"
plant src/form.c 'if (strstr(s, "ghp_")) return; /* a mention is no token */'
git -C "$repo" add secrets.yml plain.txt src
git -C "$repo" commit -qm one

cat >"$t/look.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "look", repo = a.repo }
local r = assert(box:exec [[
for f in .env .env.local sub/.env server.pem .ssh/id_rsa .npmrc .netrc .git-credentials .aws/credentials .git/config secrets.yml plain.txt notes.txt src/settings.py src/form.c; do
  echo "== $f"; cat "$f"
done
grep -rao 'can[a]ry-4418-[a-z]*' / --include='*' --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr 2>/dev/null | head
git config --get remote.origin.url
echo changed >> plain.txt; echo mine > .env; cp -r . /tmp/copy; git add -A . ; git commit -qm all
]])
for _, f in ipairs { ".env", "server.pem", ".git/config" } do print(f, (box:read(f))) end
print(tostring(box:diff()))
print(box:diff():patch())
L
timeout 60 "$sg" run "$t/look.lua" --name look -- --repo "$repo" >"$t/out" 2>&1 </dev/null
is $? 0 'the session ends well'
unlike "$(cat "$t/out")" "$k" 'nothing on the screen'
db=$(find "$HOME" -name '*.glass' | head -1)
"$sg" events look --json >"$t/json"
for kind in env envlocal subenv pem rsa npm netrc gitcred aws url more; do
	grep -qa -- "$k-$kind" "$db"* "$t/json"
	is $? 1 "found nowhere: $kind"
done
act=$(grep '"kind": *"action.requested"' "$t/json" | grep -m1 'for f in' | grep -oE '"seq": ?[0-9]+' | grep -oE '[0-9]+')
"$sg" out "look#$act" >"$t/told" 2>&1
like "$(cat "$t/told")" 'nothing to hide' 'a harmless file was read'
like "$(cat "$t/told")" 'a mention is no token' 'also what only mentions the form of a token'
unlike "$(cat "$t/told")" "$k" 'no canary in the whole output (it is compressed in the file)'
unlike "$(cat "$t/told")" "$token" 'a live token in a tracked secrets.yml is hidden as well'
git -C "$repo" log -1 --format=%H >"$t/head"
# the contents of every object and segment of the record, unpacked
if command -v python3 >/dev/null && command -v zstd >/dev/null; then
	python3 "$(dirname "$0")/look_for.py" "$db" "$k-" "$token" >"$t/out" 2>&1
	is $? 0 'nor in any value of the record, unpacked'
else skip 'python3 or zstd is missing: values are not unpacked'; fi
ready=$(grep '"kind": *"box.ready"' "$t/json")
for f in .env .env.local sub/.env server.pem .ssh .npmrc .netrc .git-credentials secrets.yml src/settings.py notes.txt "${more[@]}" .kube .docker .gnupg .azure; do
	like "$ready" "${f//./\\.}" "the box says that it hides $f"
done
is "$(cat "$repo/.env")" "TOKEN=$k-env" "the user's file is as it was"

cat >"$t/expose.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "one", repo = a.repo, expose = { ".env.local" } }
print(box:exec("cat .env.local").out:find("envlocal", 1, true) and "shown" or "hidden")
print((box:exec("cat .env").out):find("TOKEN", 1, true) and "shown too" or "the others stay hidden")
L
timeout 60 "$sg" run "$t/expose.lua" --name expose -- --repo "$repo" >"$t/out" 2>&1 </dev/null
is $? 0 'a box that exposes one'
like "$(cat "$t/out")" 'note: shown$' 'expose shows the file'
like "$(cat "$t/out")" 'the others stay hidden' 'and no other'
finish

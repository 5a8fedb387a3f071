#!/usr/bin/env bash
# The README's commands, scripts, policy, and configuration work as they are printed.
. "$(dirname "$0")/lib.sh"
top=$here/../..
readme=$top/README.md guide=$top/lua/README.md
# lua FILE N: the N-th block of Lua.
lua() { awk -v want="$2" '/^```lua$/ { on = ++n == want; next } /^```$/ { on = 0 } on' "$1"; }
# Each option of a "sandglass COMMAND" in a line of code, as far as it is ours: not what follows --.
options() {
	sed -nE 's/^    //; s/ #.*//; /^(claude .* -- )?sandglass /{ s/^claude .* -- //; p }' "$readme" "$top"/*/README.md
	grep -ohE '`sandglass [^`]+`' "$readme" "$top"/*/README.md | tr -d '`'
}
unknown=
while read -r _ command rest; do
	for word in ${rest%% -- *}; do
		case $word in --[a-z]*) "$SANDGLASS" help "$command" 2>&1 | grep -qE -- "^ *(-.,)? *${word%%=*}( |\$)" || unknown="$unknown $command:$word" ;; esac
	done
done < <(options)
[ "$(options | wc -l)" -gt 40 ]
ok $? 'commands are found'
is "$unknown" '' 'each command has the options that are shown with it'

lua "$readme" 2 >"$t/policy.lua"
"$SANDGLASS" policy check "$t/policy.lua" >"$t/out" 2>&1
is "$?" 0 'the policy loads'
like "$("$SANDGLASS" policy explain --file "$t/policy.lua" 'git push origin main' 2>&1)" 'no-push' 'and matches'
lua "$guide" 3 >"$t/config.lua"
like "$("$SANDGLASS" config --config "$t/config.lua" 2>&1)" '^models.mine.url +https://llm.example.org/v1' 'the configuration loads'

need_boxes
mkdir "$t/project"
cd "$t/project" || exit 1
printf 'test:\n\t@grep -q good x && echo ok || { echo not ok; exit 1; }\n' >Makefile
echo bad >x
git init -q . && git add -A && git commit -qm 'a test that fails'
cat >"$t/turns.lua" <<'L'
return {
  { say = "I look.", call = { "shell", { cmd = "make test" } } },
  { expect = "not ok", call = { "write", { path = "x", data = "good\n" } } },
  { call = { "shell", { cmd = "make test" } } },
  { say = "It passes.", expect = "ok" },
}
L
lua "$readme" 1 >"$t/fix.lua"
printf 'local p = require "sandglass.policy"\nreturn p.rules { p.allow "merge" { kind = "merge" }, default = "boxed" }\n' >"$t/merge.lua"
timeout 60 "$SANDGLASS" run "$t/fix.lua" --model "scripted:$t/turns.lua" --policy "$t/merge.lua" --no-input -- 'make the failing test pass' >"$t/out" 2>&1 </dev/null
is $? 0 'its script runs in a repository whose test fails'
is "$(git show sandglass/fix:x 2>&1)" good 'and brings what its agent did to the branch that it names'

{ echo 'local sg = require "sandglass"'; lua "$guide" 4; echo 'print(assert(box:run "git config --get-regexp insteadof; echo $npm_config_registry").out)'; } >"$t/proxy.lua"
GITHUB_TOKEN=canary-93174 NPM_TOKEN=canary-93175 timeout 60 "$SANDGLASS" run "$t/proxy.lua" --no-input >"$t/out" 2>&1 </dev/null
is $? 0 'its proxy opens'
like "$(cat "$t/out")" 'url.http://127.0.0.1:[0-9]+/.*insteadof https://github.com/' 'git in the box is led to it'
like "$(cat "$t/out")" '^ .*http://127.0.0.1:[0-9]+/' 'and npm'

# the tutorial of the guide, step by step
echo bad >x
for step in 1 2; do
	lua "$guide" $step >"$t/step.lua"
	timeout 60 "$SANDGLASS" run "$t/step.lua" --model "scripted:$t/turns.lua" --policy "$t/merge.lua" --no-input >"$t/out" 2>&1 </dev/null
	is $? 0 "step $step of the tutorial runs"
done
like "$(cat "$t/out")" 'It passes' 'and its agent finishes'
lua "$guide" 5 >tool.lua
lua "$guide" 6 >turns.lua
timeout 60 "$SANDGLASS" run tool.lua --no-input >"$t/out" 2>&1 </dev/null
is $? 0 'the agent with a tool of its own runs'
is "$("$SANDGLASS" events --json | jq -r 'select(.kind == "action.requested" and .body.tool == "count_lines") | .body.kind')" exec 'and the command of its tool is an action, with the name of the tool'

# the checks of a recording that the schema names, without ours
FILE=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass | tail -1)
while read -r block; do
	awk -v want="$block" '/^```sh$/ { on = ++n == want; next } /^```$/ { on = 0 } on' "$top/schema/README.md" >"$t/block.sh"
	(cd "$top" && export FILE && PATH=$(dirname "$SANDGLASS"):$PATH && sed "s|-o bundle|-o $t/bundle|; s|sh bundle|sh $t/bundle|" "$t/block.sh" | timeout 60 bash -e) >"$t/out" 2>&1
	is $? 0 "schema/README.md: $(head -1 "$t/block.sh" | cut -c1-40)"
done < <(seq "$(grep -c '^```sh$' "$top/schema/README.md")")

cd "$t" || exit 1
while read -r line; do
	timeout 60 bash -c "sandglass() { \"$SANDGLASS\" \"\$@\" </dev/null; }; $line" >"$t/out" 2>&1
	is $? 0 "${line%% #*}"
done < <(sed -n '/^Write an agent and run/,/^Run an agent on your/p' "$readme" | sed -n 's/^    //p')
while read -r line; do
	case $line in *'plugin test'*) continue ;; esac # asks the provider
	timeout 60 bash -c "sandglass() { \"$SANDGLASS\" \"\$@\" </dev/null; }; $line" >"$t/out" 2>&1
	is $? 0 "$line"
done < <(sed -n '/^## Write a plugin/,$p' "$top/plugins/README.md" | sed -n 's/^    //p')
like "$("$SANDGLASS" diff </dev/null 2>&1)" '^[+]hello' 'the diff shows what the agent wrote'
finish

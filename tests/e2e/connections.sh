#!/usr/bin/env bash
# A sandbox's connection belongs to the only running command and its agent; otherwise the event lists the running
# commands.
. "$(dirname "$0")/lib.sh"
sg=$SANDGLASS
need_boxes
need python3
cd "$t" || exit 1
export SANDGLASS_SESSIONS=$t/sessions
. "$here/fetch.bash"
for name in good bad; do
	echo "return { { say = \"I fetch\", call = { \"shell\", { cmd = \"bash fetch.sh $name\" } } }, { say = \"done\" } }" >$name.lua
done
cat >run.lua <<L
local sg = require "sandglass"
local box <close> = sg.sandbox { repo = "repo", net = { "localhost:$port" } }
for _, name in ipairs { "good", "bad" } do
  assert(sg.agent.run { task = "fetch", name = name, model = "scripted:" .. name .. ".lua", box = box, tools = { "shell" } })
end
box:run "bash fetch.sh script"
box:run "(while [ ! -e go ]; do sleep 0.1; done; bash fetch.sh later; touch done; exec sleep 600) >/dev/null 2>&1 & echo \$! >pid"
box:run "bash fetch.sh two"
do
  local sh <close> = box:shell()
  sh:run 'bash fetch.sh \$0shell'
end
box:write("go", "")
for _ = 1, 300 do
  if box:read "done" then break end
  sg.sleep(0.1)
end
box:run 'kill \$(cat pid); while kill -0 \$(cat pid) 2>&-; do sleep 0.1; done'
for _ = 1, 20 do -- the box counts its processes between commands
  sg.sleep(0.05)
  box:run "bash fetch.sh alone"
end
L
cat >policy.lua <<'L'
local p = require "sandglass.policy"
return p.rules { default = "boxed", p.deny "not-bad" { kind = "connect", agent = "bad", say = "not this one" } }
L
"$sg" run run.lua --name net --no-tui --no-input --policy policy.lua </dev/null >out 2>&1
is $? 0 'agents and a script fetch'
ev=$("$sg" events net)
id_of() { grep -E "$1" <<<"$ev" | grep -oE 'UTC +[0-9]+ ' | head -1 | grep -oE '[0-9]+'; }
good=$(id_of 'good exec: bash fetch.sh good') other=$(id_of 'bad exec: bash') script=$(id_of 'exec: bash fetch.sh script') two=$(id_of 'exec: bash fetch.sh two') shell=$(id_of 'exec: bash fetch.sh .0shell')
like "$ev" " good connect: .* within #$good" "a connection is its agent's, and of the command that made it"
like "$ev" " bad connect: .* within #$other" 'of the other agent likewise'
like "$("$sg" search -S net 'agent:bad kind:connect verdict:deny')" 'connect' 'a rule for one agent is for its connections, too'
like "$ev" "UTC +[0-9]+ connect: .* within #$script" "a script's own"
like "$ev" "connect: .* during #$two or by background processes" 'where more ran, all of it is said, and no one accused'
like "$ev" "connect: .* during #[0-9]+, #$shell or by background processes" 'also beside a shell'
like "$ev" 'connect: .* by background processes' 'what a command had left behind has no command'
alone=$(grep -E 'exec: bash fetch.sh alone' <<<"$ev" | grep -oE 'UTC +[0-9]+ ' | tail -1 | grep -oE '[0-9]+')
like "$ev" "connect: .* within #$alone" 'once that has gone a connection is its command'"'"'s again'
like "$("$sg" show "net#$(id_of 'good connect')")" 'agent +good' 'show names the agent'
"$sg" verify net --check egress=nowhere.example >out 2>&1
is $? 1 'a check of where connections went fails'
like "$(cat out)" "FAIL .*egress .*: [0-9]+ found: localhost by good, localhost by no one agent" 'and names the agent'
finish

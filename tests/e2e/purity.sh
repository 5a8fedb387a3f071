#!/usr/bin/env bash
# A Lua host is a pure function of its frames. The frames rebuilt from the session file equal the live ones, and a new
# host answers with the same bytes. The helper refeed compares them.
. "$(dirname "$0")/lib.sh"
refeed=${SANDGLASS%/*}/helpers/crash/refeed
[ -x "$refeed" ] || { skip 'the helper crash/refeed is not built (make helpers)'; finish; }
accept_any
mkdir -p "$t/bin/tape" "$t/again" "$t/other"
chmod 777 "$t/bin/tape"
cp "${SANDGLASS%/*}"/sandglass* "$t/bin/"
mv "$t/bin/sandglass-host" "$t/bin/sandglass-host.real"
cp "$refeed" "$t/bin/sandglass-host"
sg=$t/bin/sandglass
mkdir "$t/repo"
git init -q "$t/repo"
printf 'one\n' >"$t/repo/f"
git -C "$t/repo" add f
git -C "$t/repo" commit -qm one
cat >"$t/pure.lua" <<'L'
local sg = require "sandglass"
local a = sg.args { repo = "." }
local box <close> = sg.sandbox { name = "b", repo = a.repo }
print("random", math.random(1 << 40), math.random(), "time", os.time())
local results = sg.map({ 3, 1, 2, 5, 4 }, function(n)
  sg.sleep(n / 200)
  return assert(box:exec("seq " .. n * 20 .. "; echo e" .. n .. " >&2; sleep 0.0" .. n)).out
end)
for i, out in ipairs(results) do print(i, #out) end
print("race", sg.race {
  function() sg.sleep(2) return "slow" end,
  function() return (box:exec "echo quick").out end,
})
print("timeout", sg.timeout(0.2, function() return box:exec "sleep 30" end))
print("long", #assert(box:exec "seq 30000").out)
print("bytes", #assert(box:exec "head -c 300 /dev/zero | tr '\\000' '\\377'").out)
print("bad", box:exec({ "no-such-program" }), box:read "no such file")
local p <close> = box:spawn "for i in 1 2 3; do echo $i; sleep 0.02; done"
for line in p:lines() do print("line", line) end
assert(box:write("f", "two\n"))
print(box:diff():stat())
local words = {}
for k in pairs { zebra = 1, ape = 2, [7] = 3, ox = 4 } do words[#words + 1] = tostring(k) end
print(table.concat(words, " "))
local answer = sg.agent.run { name = "fix", task = "say ok", box = box, model = "scripted:fix" }
print("agent", answer and answer.text)
sg.store("pure"):set("seen", { os.time(), math.random(1000) })
print("end", os.time(), math.random(1 << 30))
L
timeout 100 "$sg" run "$t/pure.lua" $accept --name pure --no-input -- --repo "$t/repo" </dev/null >"$t/out" 2>&1
is $? 0 'the script runs to its end'
like "$(cat "$t/out")" 'race.*quick' 'with a race'
like "$(cat "$t/out")" 'timeout.*timeout|timeout.*nil' 'and a time-out'
file=$(ls "$HOME"/.local/share/sandglass/sessions/*.glass 2>/dev/null | head -1)
host=$(ls -S "$t"/bin/tape/given.* 2>/dev/null | head -1) # a policy file has had a small one of its own
host=${host##*.}
mv "$t/bin/tape/given.$host" "$t/bin/tape/given"
mv "$t/bin/tape/sent.$host" "$t/bin/tape/sent"
[ -s "$t/bin/tape/given" ] && [ -s "$t/bin/tape/sent" ]
ok $? "what was said live is there: $(wc -c <"$t/bin/tape/given") bytes to it, $(wc -c <"$t/bin/tape/sent") from it"
[ "$(wc -c <"$t/bin/tape/given")" -gt 20000 ]
ok $? 'and has many frames'
"$refeed" "$file" "$t/bin/sandglass-host.real" "$t/again" 2>"$t/out"
is $? 0 'the frames can be made again from the session file'
cmp "$t/bin/tape/given" "$t/again/given" >"$t/out" 2>&1
is $? 0 'they are the frames that the host was given, byte for byte'
cmp "$t/bin/tape/sent" "$t/again/sent" >"$t/out" 2>&1
is $? 0 'a new host that is given them says what the old one said, byte for byte'
"$refeed" "$file" "$t/bin/sandglass-host.real" "$t/other" && cmp "$t/again/sent" "$t/other/sent" >"$t/out" 2>&1
is $? 0 'and once more'
calls=$(grep -c . <("$SANDGLASS" events pure --json 2>/dev/null | grep '"kind":"host.frame"'))
[ "$calls" -gt 20 ]
ok $? "it took $calls frames"
finish

-- `sandglass plugin test`: what every kind of box must do, through the same calls as any script. One line per check, TAP.
local sg = require "sandglass"
local a = sg.args { big = "3", "backend" }
local n, bad = 0, 0

local function ok(good, name, ...)
  n = n + 1
  if not good then bad = bad + 1 end
  print(("%s %d - %s"):format(good and "ok" or "not ok", n, name:format(...)))
end

local function is(got, want, name)
  ok(got == want, "%s", name)
  if got ~= want then
    print(("#   got  %s"):format(tostring(got):sub(1, 300):gsub("\n", "\\n")))
    print(("#   want %s"):format(tostring(want):sub(1, 300):gsub("\n", "\\n")))
  end
end

local function skip(name, why)
  n = n + 1
  print(("ok %d # skip %s: %s"):format(n, name, why))
end


local box <close> = sg.sandbox { name = "conformance" }
ok(true, "a box opens (%s, profile %s)", box.backend, box.profile)

local function exits()
  for _, code in ipairs { 0, 1, 7, 126, 137, 255 } do
    local r, err = box:exec("exit " .. code)
    is(r and r.code or err, code, "status " .. code)
  end
  for _, s in ipairs { "KILL", "TERM" } do
    local r, err = box:exec(("kill -%s $$"):format(s))
    is(r and r.signal or err, "SIG" .. s, "ended by SIG" .. s)
  end
  is(box:exec({ "/nowhere/to/be/found" }).code, 127, "what is not there ends with 127")
  is(box:exec({ "/etc/passwd" }).code, 126, "what cannot be executed with 126")
end

local function streams()
  local r = box:exec "printf out; printf err >&2; printf more"
  is(r.out, "outmore", "stdout")
  is(r.err, "err", "stderr apart")
  is(box:exec({ "printf", "%s|", "a b", "", "$HOME", "*", "'", "\n" }).out, "a b||$HOME|*|'|\n|", "words arrive as they are")
  local every = {}
  for i = 1, 255 do every[#every + 1] = ("\\%03o"):format(i) end
  box:exec("printf '" .. table.concat(every):gsub("\\047", "\\047") .. "' >bytes; printf '\\000' >>bytes")
  is(box:exec("od -An -tx1 <bytes | tr -d ' \\n' | wc -c").out:match "%d+", "512", "every byte can be written")
  r = box:exec "cat bytes bytes bytes | cksum; cat bytes bytes bytes"
  local size = box:exec("cat bytes bytes bytes | wc -c").out:match "%d+"
  is(size, "768", "and read")
  r = box:exec(("head -c %d000000 /dev/zero | tr '\\0' x"):format(tonumber(a.big)))
  ok(r and r.code == 0, "%s MB of output end well", a.big)
  r = box:exec "i=0; while [ $i -lt 500 ]; do echo $i; i=$((i + 1)); done"
  ok(r and r.out:find "^0\n1\n", "many small writes")
  r = box:exec "printf a; sleep 30 & exit 3"
  ok(r and r.code == 3 and r.out == "a", "the end is the end of the process, not of the pipe")
  is(box:exec("cat; echo end", { stdin = "given\n" }).out, "given\nend\n", "input goes in and ends")
  is(box:exec("cat").out, "", "no input is an empty one")
  is(box:exec("wc -c", { stdin = ("x"):rep(200000) }).out:match "%d+", "200000", "200 KB of input")
  is(box:exec("echo $GIVEN-$HOME_OF_HOST", { env = { GIVEN = "a 'b' $c" } }).out, "a 'b' $c-\n", "environment of a command")
  is(box:exec("pwd").out, "/workspace\n", "begins in /workspace")
  is(box:exec("pwd", { cwd = "/tmp" }).out, "/tmp\n", "or elsewhere")
end

local function ends()
  local r, err = box:exec("sleep 60", { timeout = "300ms" })
  ok(not r and err.code == "timeout", "a time limit ends it")
  local p = box:spawn("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done")
  local text = p:read()
  is(text, "up\n", "a process tells what it does while it runs")
  p:kill "TERM"
  local res = p:wait()
  ok(res and res.code == 5, "a signal arrives")
  local c = box:spawn("cat")
  c:write "one\n"
  is(c:read(), "one\n", "input while it runs")
  c:write("", { eof = true })
  res = c:wait()
  is(res and res.code, 0, "and its end")
end

local function files()
  local bytes = "line\n\0\xff\xfeend"
  ok(box:write("new/dir/file", bytes), "write makes what is missing")
  is(box:read "new/dir/file", bytes, "read gives the same bytes")
  is(box:exec("wc -c <new/dir/file").out:match "%d+", tostring(#bytes), "a command sees them")
  local r, err = box:read "missing"
  ok(r == nil and err, "what is missing is said to be")
  r, err = box:read "new"
  ok(r == nil and err, "a folder is not read")
  box:exec "mkfifo fifo; ln -s /etc/passwd link"
  r, err = box:read "fifo"
  ok(r == nil and err, "a fifo is not waited for")
  local odd = "o'd d$\n\"*?"
  ok(box:write("odd/" .. odd, "x"), "a file with an odd name")
  is(box:exec({ "cat", "odd/" .. odd }).out, "x", "is there")
  local many = ("0123456789abcdef"):rep(20000)
  ok(box:write("large", many), "320 KB are written")
  is(box:exec("wc -c <large").out:match "%d+", "320000", "and there")
  is(#(box:read "large" or ""), 320000, "and read")
end

local function together()
  local list = {}
  for i = 1, 10 do list[i] = i end
  local got = sg.map(list, function(i) return box:exec("echo " .. i, { parallel = true }).out end)
  local good = 0
  for i, v in ipairs(got) do if v == i .. "\n" then good = good + 1 end end
  is(good, 10, "ten at once")
end

local function shell()
  local sh, err = box:shell()
  if not box.caps.pty then
    ok(not sh and tostring(err):find "no terminals", "it has no terminals, and says so")
    return skip("a shell that stays", "no terminals")
  end
  is(sh:run("cd /tmp; X='a b'; f() { echo \"f $1\"; return 7; }").code, 0, "a shell that stays")
  local r = sh:run "pwd; echo \"$X\"; f it"
  is(r and r.out, "/tmp\na b\nf it\n", "keeps folder, variables and functions")
  is(r and r.code, 7, "and says the status")
  is(sh:run("if then fi (").code ~= 0 and sh:run("echo on").out, "on\n", "goes on after a syntax error")
  is(sh:run("[ -t 0 ] && [ -t 1 ] && stty size").out, "40 120\n", "has a terminal of a known size")
  r, err = sh:run("echo begun; sleep 60", { timeout = "700ms" })
  ok(not r and err.code == "timeout", "a time limit stops what runs in it")
  is(sh:run("echo on; false").code, 1, "which it survives")
  local told
  sg.spawn(function() sg.sleep "300ms" sh:send "y\n" end)
  r = sh:run("printf 'sure? '; read a; echo \"got $a\"", { on_out = function(t) told = (told or "") .. t end })
  ok(r and r.out:find "got y" and told:find "sure", "a program that asks gets its answer")
  is(#sh:run("i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i + 1)); done").out, 33000, "33 KB of output")
  local before = sh:run("true").event
  local changed = box:diff(before, sh:run("echo by the shell >/workspace/by-shell").event)
  ok(changed and changed:stat():find "by%-shell", "what a command changes is known at its end")
  sh:run "sleep 61 & sleep 62 &"
  is(box:exec("echo alone").out, "alone\n", "commands besides it")
  sh:close()
  local still = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done | grep -c '^sleep 6[12]'"
  local left
  for _ = 1, 30 do
    left = box:exec(still).out
    if left == "0\n" then break end
    sg.sleep "200ms"
  end
  is(left, "0\n", "nothing of it is left when it is closed")
  local other = box:shell()
  r, err = other:run "echo last; exit 5"
  ok(not r and tostring(err):find "its shell has ended", "one that ends says so")
  r, err = other:run "true"
  ok(not r and err, "and takes no more")
end

local function trees()
  local first = box.caps and box:snapshot "first"
  if not first then return skip("snapshots, diff, rollback and fork", "the driver shows no files") end
  box:exec "echo new >tree; rm -f large"
  local names = box:diff(first):stat()
  ok(names:find "tree", "a diff names what has changed")
  ok(box:rollback(first), "rollback")
  local r = box:exec "ls tree large"
  ok(r.out:find "large" and not r.out:find "tree", "is as it was")
  local other <close> = assert(box:fork())
  is(other:exec("wc -c <large").out:match "%d+", "320000", "a fork has the files")
  other:exec "echo other >large"
  is(box:exec("wc -c <large").out:match "%d+", "320000", "and is another box")
end

for _, part in ipairs { { "exits", exits }, { "streams", streams }, { "ends", ends }, { "files", files },
  { "together", together }, { "shell", shell }, { "trees", trees } } do
  local good, e = pcall(part[2])
  if not good then ok(false, "%s: %s", part[1], tostring(e)) end
end
box:close()
ok(true, "closed")
print(("1..%d"):format(n))
sg.exit(bad > 0 and 1 or 0)

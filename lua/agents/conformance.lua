-- `sandglass plugin test`: the requirements for every backend, tested through the calls of any
-- script. One suite serves built-in backends, plugins, and a user's own. It prints one line per
-- check in TAP. Abilities that a backend does not declare are skipped with the reason. The program
-- that starts it (src/cli/plugin_test.c) adds checks that a script can't do: it kills the
-- supervisor at "reconnect" and looks for remains at the end.
local sg = require "sandglass"
local a = sg.args { "backend", box = "{}", dir = "", pieces = 2, mb = 2, sum = "", mark = "", every = "no", parts = "" }
local bad = 0

local function ok(good, name, ...)
  if not good then bad = bad + 1 end
  print(("%s - %s"):format(good and "ok" or "not ok", name:format(...)))
  return good
end

local function shown(v) return (tostring(v):sub(1, 300):gsub("\n", "\\n")) end

local function is(got, want, name)
  if ok(got == want, "%s", name) then return end
  print("#   got  " .. shown(got))
  print("#   want " .. shown(want))
end

local function skip(name, why) print(("ok # skip %s: %s"):format(name, why)) end

local how = sg.json.decode(a.box)
how.name, how.repo, how.accept = "conformance", a.dir .. "/repo", "reduced"
local box <close> = sg.sandbox(how)
local caps = box.caps
local PYTHON = "it has Python alone"
ok(true, "a box opens (%s, profile %s)", box.backend, box.profile)

-- A text for sh, or what does the same in Python where that is all there is. nil, why: neither.
local function words(sh, py)
  if caps.shell then return sh end
  return py and { "python", "-c", "import os, sys\nout = sys.stdout.buffer.write\n" .. py }
end

local function exec(sh, py, o, b) return (b or box):exec(words(sh, py), o) end

local function said(sh, py, o, b)
  local r, err = exec(sh, py, o, b)
  return r and (r.out:gsub("%s+$", "")) or tostring(err)
end

-- Endings --------------------------------------------------------------------------------------------------------

local function every_status()
  if not caps.shell then return skip("every status from 0 to 255", PYTHON) end
  local good, list, codes = 0, {}, {}
  for code = 0, 255 do list[#list + 1], codes[#codes + 1] = "exit " .. code, code end
  if a.every == "yes" then
    for _, code in ipairs(codes) do
      local r = box:exec("exit " .. code)
      if r and r.code == code then good = good + 1 end
    end
  else
    for i, r in ipairs(assert(box:batch(list))) do if r.code == codes[i] then good = good + 1 end end
  end
  is(good, 256, "every status from 0 to 255")
end

local function exits()
  is(said("pwd", "print(os.getcwd())"), box.workspace, "begins in the workspace")
  for _, code in ipairs { 0, 1, 7, 126, 129, 130, 137, 141, 255 } do
    local r, err = exec("exit " .. code, ("sys.exit(%d)"):format(code))
    is(r and r.code or err, code, "status " .. code)
  end
  every_status()
  for _, s in ipairs { "KILL", "TERM", "SEGV", "INT", "PIPE" } do
    if caps.shell then
      local r, err = box:exec(("kill -%s $$"):format(s))
      is(r and r.signal or err, "SIG" .. s, "ended by SIG" .. s)
    else
      skip("ended by SIG" .. s, "a program has no number to send a signal to")
    end
  end
  is(box:exec({ "/nowhere/to/be/found" }).code, 127, "a missing program ends with 127")
  if caps.shell then is(box:exec({ "/etc/passwd" }).code, 126, "a file without execute permission ends with 126") end
end

-- Streams --------------------------------------------------------------------------------------------------------

local function output()
  local r = exec("printf out; printf err >&2; printf more", "out(b'out'); sys.stderr.write('err'); out(b'more')")
  is(r.out, "outmore", "stdout")
  if caps.streams then is(r.err, "err", "stderr apart") else skip("stderr apart", "it declares no streams") end
  local list = { "a b", "", "$HOME", "*", "'", "\n", "\xff", "-n" }
  local want = table.concat(list, "|") .. "|"
  r = caps.shell and box:exec({ "printf", "%s|", table.unpack(list) })
    or box:exec({ "python", "-c", "import os, sys\nfor w in sys.argv[1:]: sys.stdout.buffer.write(os.fsencode(w) + b'|')", table.unpack(list) })
  is(r.out, want, "words arrive as they are")
  local all = {}
  for i = 0, 255 do all[#all + 1] = string.char(i) end
  all = table.concat(all)
  box:write("bytes", all .. all)
  r = exec("cat bytes; cat bytes >&2", "b = open('bytes', 'rb').read(); out(b); sys.stderr.buffer.write(b)")
  is(r.out, all .. all, "every byte comes out")
  is(caps.streams and r.err or all .. all, all .. all, "and as an error")
end

-- Runs @sh and says whether exactly what next() gives, text after text, came out of it.
local function streams_as(next, sh, py)
  local want, at, good, len = next() or "", 1, true, 0
  local function out(data, stream)
    if stream ~= "out" then return end
    len = len + #data
    local from = 1
    while good and from <= #data do
      if at > #want then want, at = next() or "", 1 end
      local n = math.min(#want - at + 1, #data - from + 1)
      if n == 0 or want:sub(at, at + n - 1) ~= data:sub(from, from + n - 1) then good = false end
      at, from = at + n, from + n
    end
  end
  local r = exec(sh, py, { on_out = out })
  return good and r and r.code == 0 and at > #want and not next(), len
end

local function much_output()
  local n = a.pieces
  exec("head -c 1000003 <large >piece", "open('piece', 'wb').write(open('large', 'rb').read(1000003))")
  local piece, i = assert(box:read "piece"), -1
  local good, len = streams_as(function()
    i = i + 1
    return i < 2 * n and (i % 2 == 0 and piece or i // 2 .. "\n") or nil
  end, ("i=0; while [ $i -lt %d ]; do cat piece; echo $i; i=$((i + 1)); done"):format(n),
    ("b = open('piece', 'rb').read()\nfor i in range(%d): out(b + b'%%d\\n' %% i)"):format(n))
  ok(good and #piece == 1000003, "%d MB of output, any bytes, are the same byte for byte", n)
  if not good then print(("#   %d bytes"):format(len)) end
  i = -1
  ok(streams_as(function()
    i = i + 1
    return i < 10000 and i .. "\n" or nil
  end, "i=0; while [ $i -lt 10000 ]; do echo $i; i=$((i + 1)); done",
    "for i in range(10000): sys.stdout.write('%d\\n' % i); sys.stdout.flush()"), "10000 tiny writes come whole and in order")
end

local function input()
  if not caps.stdin then return skip("input", "it declares no stdin") end
  local cat = "b = sys.stdin.buffer.read(); out(b); out(b'end\\n')"
  is(exec("cat; echo end", cat, { stdin = "given\n" }).out, "given\nend\n", "input goes in and ends")
  is(exec("cat; echo end", cat).out, "end\n", "no input is an empty one")
  is(said("wc -c", "print(len(sys.stdin.buffer.read()))", { stdin = ("x\0"):rep(100000) }), "200000", "200 KB of input")
  local p = box:spawn(words("cat", "print(sys.stdin.readline(), end='', flush=True); sys.stdin.read()"))
  p:write "one\n"
  is(p:read(), "one\n", "input while it runs")
  p:write("", { eof = true })
  local r = p:wait()
  is(r and r.code, 0, "and its end")
end

local function surroundings()
  is(said("echo \"$GIVEN\"", "print(os.environ['GIVEN'])", { env = { GIVEN = "a 'b' $c" } }), "a 'b' $c", "environment of a command")
  local all = said("env", "print(*['%s=%s' % v for v in os.environ.items()], sep='\\n')")
  ok(a.mark ~= "" and not all:find(a.mark, 1, true) and all:find "PATH=", "nothing of the environment of this machine's user is in it")
  if not caps.shell then
    skip("or elsewhere", PYTHON)
    skip("nor in a folder that is not there, and why", PYTHON)
    skip("of several commands none", PYTHON)
    skip("one of 200 KB runs, or its length is named as the cause", PYTHON)
    return
  end
  is(said("pwd", nil, { cwd = "/tmp" }):match "/tmp$", "/tmp", "or elsewhere")
  local refused = 0
  for _ = 1, 10 do   -- it may be known before the command is let go, or after
    local r = box:exec("pwd", { cwd = "nowhere" })
    if r and r.code == 126 and r.err ~= "" then refused = refused + 1 end
  end
  is(refused, 10, "nor in a folder that is not there, and why")
  local r = box:batch({ "true", "pwd" }, { cwd = "nowhere" })
  ok(r and r[1] and r[1].code == 126 and r[1].err ~= "" and not r[2], "of several commands none")
  r = box:exec("# " .. ("long"):rep(50000))
  ok(r and (r.code == 0 or r.code == 126 and r.err:find "too long"),
    "one of 200 KB runs, or its length is named as the cause")
end

-- Time, signals, running processes -------------------------------------------------------------------------------

local function ends()
  local r, err = exec("sleep 60", "import time; time.sleep(60)", { timeout = "300ms" })
  ok(not none and err.code == "timeout", "a time limit ends it")
  if not caps.signal then
    skip("a signal arrives", "it declares no signals")
  elseif caps.shell then
    local p = box:spawn("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done")
    is(p:read(), "up\n", "a process tells what it does while it runs")
    p:kill "TERM"
    r = p:wait()
    is(r and r.code, 5, "a signal arrives")
  end
  local p = box:spawn(words("echo up; sleep 60", "import time; print('up', flush=True); time.sleep(60)"))
  is(p:read(), "up\n", "a process runs")
  p:kill "KILL"
  r = p:wait()
  ok(r and r.code ~= 0, "is killed")
  if caps.shell then
    box:exec("(while :; do echo >>alive; sleep 0.05; done) & wait", { timeout = "500ms" })
    local before, after = said("wc -l <alive; sleep 0.5; wc -l <alive"):match "(%d+)%s+(%d+)"
    is(after, before, "with it end those that it has started")
    p = box:spawn "yes"
    sg.sleep "500ms"   -- nobody reads meanwhile
    p:kill()
    r = p:wait()
    ok(r and r.out_bytes < 128 << 20, "unread output stops the writer: " .. (r and r.out_bytes // 1048576 or "?") .. " MB")
    r = box:exec "printf a; sleep 30 & exit 3"
    ok(r and r.code == 3 and r.out == "a", "the end is the end of the process, not of the pipe")
  else
    skip("its end also ends its child processes", "a program starts no others")
    skip("unread output stops the writer", PYTHON)
    skip("the end is the end of the process, not of the pipe", "a program starts no others")
  end
end

local function together()
  local list, good = {}, 0
  for i = 1, caps.shell and 10 or 3 do list[i] = i end   -- each Python in WebAssembly takes 200 MB
  local got = sg.map(list, function(i) return said("echo " .. i, ("print(%d)"):format(i), { parallel = true }) end)
  for i, v in ipairs(got or {}) do if v == tostring(i) then good = good + 1 end end
  is(good, #list, #list .. " at once")
end

local function posix_shell(sh)
  is(sh:run("W=$PWD; cd /tmp; X='a b'; f() { echo \"f $1\"; return 7; }").code, 0, "a shell that stays")
  local r = sh:run "pwd; echo \"$X\"; f it"
  is(r and r.out:gsub("^/[^ \n]*/tmp", "/tmp"), "/tmp\na b\nf it\n", "keeps folder, variables and functions")
  is(r and r.code, 7, "and says the status")
  is(sh:run("if then fi (").code ~= 0 and sh:run("echo on").out, "on\n", "continues after a syntax error")
  is(sh:run("[ -t 0 ] && [ -t 1 ] && stty size").out, "40 120\n", "has a terminal of a known size")
  local none, err = sh:run("echo begun; sleep 60", { timeout = "700ms" })
  ok(not none and err.code == "timeout", "a time limit stops what runs in it")
  is(sh:run("echo on; false").code, 1, "which it survives")
  local told
  sg.spawn(function() sg.sleep "300ms" sh:send "y\n" end)
  r = sh:run("printf 'sure? '; read a; echo \"got $a\"", { on_out = function(t) told = (told or "") .. t end })
  ok(r and r.out:find "got y" and told:find "sure", "a program that asks gets its answer")
  is(#sh:run("i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i + 1)); done").out, 33000, "33 KB of output")
  local before = sh:run("true").event
  local changed = box:diff(before, sh:run("echo by the shell >\"$W/by-shell\"").event)
  ok(changed and changed:stat():find "by%-shell", "what a command changes is known at its end")
  box:exec "rm -f by-shell"
  is(box:exec("echo alone").out, "alone\n", "commands besides it")
end

local function shell_that_ends()
  local sh = box:shell()
  local r, err = sh:run "echo last; exit 5"
  ok(r and r.code == 5 and r.shell_ended, "a shell that exits reports its status")
  r, err = sh:run "true"
  ok(not r and err, "and takes no more commands")
end

local function interpreter(sh)
  sh:run "mine = 40\ndef add(n):\n    return mine + n"
  is(sh:run("add(2)").out, "42\n", "a shell, an interpreter here, keeps what it knows")
  is(tostring(select(2, sh:run("while True: pass", { timeout = "300ms" }))):match "time is up", "time is up", "what takes too long in it is stopped")
  is(sh:run("mine").out, "40\n", "without the shell")
end

local function shells()
  local sh, none = box:shell()
  if not caps.pty then
    ok(not sh and tostring(none):find "no terminals", "the error names the missing terminals")
    return skip("a shell that stays", "no terminals")
  end
  if not ok(sh, "a shell that stays is there") then return print("#   " .. tostring(none)) end
  if not caps.shell then return interpreter(sh) end
  posix_shell(sh)
  sh:run "sleep 61 & sleep 62 &"
  sh:close()
  local still = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done | grep -c '^sleep 6[12]'"
  local left
  for _ = 1, 30 do
    left = box:exec(still).out
    if left == "0\n" then break end
    sg.sleep "200ms"
  end
  is(left, "0\n", "nothing of it is left when it is closed")
  shell_that_ends()
end

-- Interpreters that stay, where their programs are.
local function interpreters()
  if not caps.shell then return end
  for language, words in pairs { python = { "python3", "kept = 40", "1/0" }, node = { "node", "let kept = 40", "null.x" } } do
    if box:exec("command -v " .. words[1]).code ~= 0 then
      skip(language .. " keeps its variables", words[1] .. " is not installed there")
    else
      local kept <close> = assert(box:interpreter(language))
      is(assert(kept:run(words[2])).code, 0, language .. ": a variable")
      is(assert(kept:run("kept + 2")).out, "42\n", language .. ": is kept between calls")
      is(assert(kept:run(words[3])).code, 1, language .. ": an exception is status 1")
    end
  end
end

-- Files ----------------------------------------------------------------------------------------------------------

local ODD = "o'd \n\t\"\\*?$ " .. (caps.shell and "\xff" or "\u{e4}")

local function files()
  local bytes = "line\n\0\xff\xfeend"
  ok(box:write("new/dir/file", bytes), "write makes what is missing")
  is(box:read "new/dir/file", bytes, "read gives the same bytes")
  is(box:read("new/dir/file", { from = 5, len = 2 }), "\0\xff", "and a part of them")
  is(said("wc -c <new/dir/file", "print(os.path.getsize('new/dir/file'))"), tostring(#bytes), "a command sees them")
  ok(box:write("odd/" .. ODD, "x"), "a file with an odd name")
  if not caps.shell then skip("of any bytes", "Python in WebAssembly knows names in UTF-8 alone") end
  is(said("cat odd/*", "print(open('odd/' + os.listdir('odd')[0]).read())"), "x", "is there")
  is(box:read("odd/" .. ODD), "x", "and read")
  local list = assert(box:glob "{}")
  is(table.concat(list, " "), "", "what no file is called is not found")
  list = assert(box:glob "*/*r/*")
  is(table.concat(list, " "), "new/dir/file", "files are found by their names")
  list = assert(box:glob "odd/*")
  is(table.concat(list, " "), "odd/" .. ODD, "also odd ones")
  local r, err = box:read "missing"
  ok(r == nil and err, "a missing file is an error")
  r, err = box:read "new"
  ok(r == nil and err, "a folder is not read")
  if caps.shell then
    box:exec "mkfifo fifo; ln -s /etc/passwd link"
    r, err = box:read "fifo"
    ok(r == nil and err, "a fifo is not waited for")
  else
    skip("a fifo is not waited for", "it makes no fifos")
  end
end

local SUM = "import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest())"

-- A file of the host and back; the program that starts us compares.
local function large_file()
  ok(box:put(a.dir .. "/large", "large"), "a file of %d MB, any bytes, goes there", a.mb)
  is(said("sha256sum <large", SUM):match "^%x+", a.sum, "a command finds the same bytes")
  ok(box:get("large", a.dir .. "/back"), "and it comes back")
end

-- Versions -------------------------------------------------------------------------------------------------------

local function changed(from)
  local names = {}
  for _, f in ipairs(assert(box:diff(from)).files) do
    if f.path ~= "d" and f.path ~= "d/e" then names[#names + 1] = f.path end   -- directories are listed if the backend keeps their modes
  end
  table.sort(names)
  return table.concat(names, " ")
end

local LIST = "import os; print(*sorted(n for n in os.listdir('.') if n != '.git'))"
local function listed(b) return said("LC_ALL=C ls", LIST, nil, b) end

local function trees()
  is(said("cat there", "print(open('there').read())"), "before", "the repository is in it")
  exec("rm -rf odd large piece; echo new >tree", "open('tree', 'w').write('new\\n'); [os.remove(n) for n in ('large', 'piece') if os.path.exists(n)]")
  local first, err = box:snapshot "first"
  if not ok(first, "a snapshot") then return print("#   " .. tostring(err)) end
  local was = listed()
  exec("echo more >>tree; rm there; mkdir -p d/e; echo 3 >d/e/c; ln -s c d/e/l; chmod 0500 d/e; touch empty",
    "open('tree', 'a').write('more\\n'); os.remove('there'); os.makedirs('d/e'); open('d/e/c', 'w').write('3'); os.symlink('c', 'd/e/l'); open('empty', 'w')")
  is(changed(first), "d/e/c d/e/l empty there tree", "a diff names what has changed")
  ok(changed():find "tree", "also from the beginning")
  ok(box:rollback(first), "rollback")
  is(listed(), was, "is as it was")
  is(said("cat tree there", "print(open('tree').read() + open('there').read())"), "new\nbefore", "with its earlier content")
  local other <close> = assert(box:fork())
  is(listed(other), was, "a fork has the files")
  exec("echo other >tree; echo mine >only", "open('tree', 'w').write('other'); open('only', 'w')", nil, other)
  is(said("cat tree; ls only 2>&1 | grep -c '^only$'", "print(open('tree').read() + str(+os.path.exists('only')))"), "new\n0", "and is another box")
end

-- A process writes all the time, and snapshots taken meanwhile are intact.
local function written_meanwhile()
  if not caps.shell then return skip("with a process that writes meanwhile", "a program starts no others") end
  local p = box:spawn "while :; do date +%s >now; sleep 0.02; done"
  for i = 1, 3 do box:exec("echo " .. i .. " >count") end
  is(said "cat count", "3", "with a process that writes meanwhile")
  local s, err = box:snapshot()
  if not ok(s, "it has a snapshot all the same") then print("#   " .. tostring(err)) end
  p:kill "KILL"
  p:wait()
end

local function freezing()
  if not caps.freeze then return skip("freeze and thaw", "it declares no freeze") end
  local p = box:spawn(words("while :; do echo >>ticks; sleep 0.02; done", "import time\nwhile True:\n    open('ticks', 'a').write('\\n'); time.sleep(0.02)"))
  while #(box:read "ticks" or "") < 2 do sg.sleep "20ms" end
  ok(box:freeze(), "freeze")
  local n = #box:read "ticks"
  sg.sleep "300ms"
  is(#box:read "ticks", n, "nothing moves")
  ok(box:thaw(), "thaw")
  sg.sleep "300ms"
  ok(#box:read "ticks" > n, "it moves on")
  p:kill "KILL"
  p:wait()
end

-- Servers --------------------------------------------------------------------------------------------------------

local SERVE = [[
cd "$1" || exit
if command -v python3 >/dev/null; then exec python3 -m http.server --bind 127.0.0.1 "$2"
elif busybox --list 2>&1 | grep -q '^httpd$'; then exec busybox httpd -f -p "127.0.0.1:$2"
else exit 3; fi]]

local function ports()
  if not caps.shell then return skip("a server in it is reached", PYTHON) end
  if not caps.dial and not caps.dial_http then return skip("a server in it is reached", "it declares no dial") end
  local port = 20000 + math.random(12000)
  box:write("pub/hello", "hello from it\n")
  local p = assert(box:spawn { "sh", "-c", SERVE, "serve", "pub", tostring(port) })
  local c, r, err = require("sandglass.inside.http").new(box, port, {}), nil, nil
  for _ = 1, 100 do
    r, err = c.ask("GET", "/hello")
    if r and r.text == "hello from it\n" or tostring(err):find "connect to a port" then break end
    sg.sleep "100ms"
  end
  c.close()
  if not r and tostring(err):find "connect to a port" then
    p:kill "KILL"
    p:wait()
    return skip("a server in it is reached", tostring(err))
  end
  if not r and box:exec("command -v python3 || busybox --list | grep -q '^httpd$'").code ~= 0 then
    skip("a server in it is reached", "neither python3 nor busybox is in it to serve with")
  else
    is(r and r.text or err, "hello from it\n", "a server in it is reached")
    local url = box:url(port)
    ok(url and url:find "^http://127%.0%.0%.1:%d+", "and has an address on this machine")
  end
  p:kill "KILL"
  p:wait()
end

-- The supervisor -------------------------------------------------------------------------------------------------

local function reconnects()
  exec("echo before >kept", "open('kept', 'w').write('before')")
  local left = box:spawn(words("while :; do sleep 987; done", nil) or { "python", "-c", "import time; time.sleep(987)" })
  print "reconnect"
  local r, err = exec("echo x >>ran; sleep 0.7", "import time; open('ran', 'a').write('x'); time.sleep(0.7)")
  ok(r and r.code == 0 or err and err.code == "interrupted", "the supervisor is killed, and its session resumes")
  if r then is(said("cat ran", "print(open('ran').read())"), "x", "the command ran once, in a sandbox in its earlier state") end
  is(said("cat kept there", "print(open('kept').read().strip() + '\\n' + open('there').read())"), "before\nbefore", "its files are in the present sandbox")
  exec("echo after >again", "open('again', 'w').write('after')")
  ok(changed():find "again", "and their changes are reported as before")
  r = left:wait()
  ok(not r or r.code ~= 0, "its earlier processes have ended")
end

-- Identity -------------------------------------------------------------------------------------------------------

-- A closed sandbox leaves no files to another one. Home and /tmp belong to the sandbox unless it
-- has no isolation.
local function of_one_name()
  how.name = "one-name"
  local own = caps.shell and box.profile ~= "none"
  local sh = "echo x >mark-left" .. (own and "; echo x >~/mark-left; echo x >/tmp/mark-left" or "")
  local first, err = sg.sandbox(how)
  if not first then return ok(false, "another opens: %s", tostring(err)) end
  exec(sh, "open('mark-left', 'w').write('x')", nil, first)
  first:close()
  local second <close> = sg.sandbox(how)
  local look = "ls -A ." .. (own and " ~ /tmp" or "") .. " | grep mark-left; true"
  is(second and said(look, "print(' '.join(f for f in os.listdir('.') if f == 'mark-left'))", nil, second), "",
    "one with the name of a closed one has none of its files")
end

-- The supervisor is killed early: the events recorded before are replayed.
for _, part in ipairs { { "exits", exits }, { "reconnects", reconnects }, { "output", output }, { "input", input }, { "surroundings", surroundings }, { "ends", ends },
  { "together", together }, { "shells", shells }, { "interpreters", interpreters }, { "files", files }, { "large", large_file }, { "much", much_output }, { "trees", trees },
  { "meanwhile", written_meanwhile }, { "freezing", freezing }, { "ports", ports },
  { "of_one_name", of_one_name } } do
  local chosen = a.parts == "" or (" " .. a.parts .. " "):find(" " .. part[1] .. " ", 1, true)
  local good, e = true, nil
  if chosen then good, e = pcall(part[2]) end
  if not good then ok(false, "%s: %s", part[1], tostring(e)) end
end
box:spawn(words(("exec 3>&1; MARK=%s; while :; do sleep 1; done"):format(a.mark), "import time\n# " .. a.mark .. "\ntime.sleep(987)"))
local closed, why = box:close()
ok(closed, "closed while something runs in it%s", closed and "" or ": " .. tostring(why))
sg.exit(bad > 0 and 1 or 0)

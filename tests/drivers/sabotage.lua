-- Ways to sabotage a sandbox, each in a sandbox of its own. For each: the answer of an agent's tool, and what the next
-- calls do. One line each: ROW|way|next|first answer|second answer. next: works, told (not run, with cause and remedy),
-- died, fails (a program of the sandbox answers otherwise), or BAD: why.
local sg = require "sandglass"
local tools = require "sandglass.tools"
local a = sg.args { how = "{}", only = "" }

local FULL = "disk limit"
local ways = {
  { "programs removed", "rm -rf /bin/* /usr/bin/* /usr/local/bin 2>/dev/null" },
  { "loader removed", "rm -rf /lib64 /lib/ld-* /usr/lib/*/ld-* /usr/lib64/ld-* 2>/dev/null" },
  { "programs not executable", "chmod -R a-x /bin/ /usr/bin/ 2>/dev/null" },
  { "sh replaced", "cp /bin/cat /bin/sh 2>/dev/null || mv -f /usr/bin/false /bin/sh" },
  { "working directory unreadable", "chmod 000 ." },
  { "working directory removed", "cd / && rm -rf $W" },
  { "working directory a file", "cd / && rm -rf $W; echo x >$W" },
  { "working directory a link", "cd / && rm -rf $W; ln -s / $W" },
  { "working directory a fifo", "cd / && rm -rf $W; mkfifo $W" },
  { "tmp full", "head -c 1000000000 /dev/zero >${TMPDIR:-/tmp}/full", says = FULL },
  { "disk full", "head -c 1000000000 /dev/zero >full", says = FULL },
  { "no inodes", "i=0; while [ $i -lt 40 ]; do mkdir d$i && (cd d$i && seq 1 300 | xargs touch) || exit; i=$((i + 1)); done" },
  { "memory", "tail /dev/zero", says = "memory" },
  { "fork bomb", "b() { b | b & }; b; sleep 2; exit 1", 10, says = "limit of processes" },
  { "all killed", "kill -9 -1; sleep 5" },
  { "guest killed", "kill -9 1 $PPID; for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p 2>/dev/null; done; sleep 1" },
  { "guest stopped", "kill -STOP 1 $PPID; for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -STOP $p 2>/dev/null; done; sleep 1", 3 },
  { "itself stopped", "kill -STOP $$", 2, says = "give it more time" },
  { "streams closed", "exec <&- >&- 2>&-; sleep 1" },
  { "streams kept by a background process", "(setsid sleep 1000; :) & echo begun", 10, says = "begun" },
  { "limits lowered", "ulimit -n 3; ulimit -f 0; ulimit -v 1000; ls" },
  { "profile broken", "for f in ~/.profile ~/.bashrc ~/.bash_profile /etc/profile; do echo 'PATH=/nowhere; exit 7' >$f; done 2>/dev/null" },
  { "preload broken", "echo /nowhere.so >/etc/ld.so.preload; ls >/dev/null" },
  { "mounts removed", "umount -a 2>/dev/null; umount -l $W /tmp /proc /dev / 2>&1" },
  { "mounted over", "unshare -rm sh -c \"mount -t tmpfs x $W\" 2>&1 || mount -t tmpfs x $W 2>&1" },
  { "null removed", "rm -f /dev/null && echo x >/dev/null; mv /dev /dev2" },
  { "environment huge", "export X=$(head -c 3000000 /dev/zero | tr '\\0' x); ls" },
  { "accounts broken", "export LC_ALL=xx_YY; for f in passwd group nsswitch.conf hosts resolv.conf environment; do echo :: >/etc/$f; done 2>/dev/null; rm -rf ~" },
}

local only = {}
for n in a.only:gmatch "%d+" do only[tonumber(n)] = true end
local function one_line(text) return (text:gsub("[%s|\"\\]+", " "):sub(1, 150)) end

-- The words of the tool, and its error.
local function call(chat, name, args)
  local v, err = chat:call { name = name, args = args }
  return v and tools.to_text(v) or tools.error_text(err), err
end

local function judge(way, box, first, second, err, third, third_err)
  if first == "" then return "BAD: the first call says nothing" end
  if way.says and not first:find(way.says, 1, true) then return "BAD: the first call does not name its cause" end
  if second == box.workspace .. "\nalive\n" then
    return (third:find("kept", 1, true) or third_err) and "works" or "BAD: a file reads otherwise"
  end
  if second:find("alive", 1, true) then return "BAD: it ran elsewhere" end
  if err then return second:find("sandbox died", 1, true) and third_err and "died" or "BAD: neither works nor is dead" end
  if second:find("sandglass: [^;]+: [^;]+; .*%[exit 12[67]%]") then return "told" end
  return second:find "%[exit" and "fails" or "BAD: neither works nor fails"
end

-- The machine's sshd may have no process left for a moment after a fork bomb, and a guest on a busy machine may start late.
local function open(how)
  for _ = 1, 20 do
    local good, box = pcall(sg.sandbox, how)
    if good then return box end
    local why, again = tostring(box), false
    for _, cause in ipairs { "Connection reset", "start within" } do again = again or why:find(cause, 1, true) end
    if not again then error(box) end
    sg.sleep(0.5)
  end
  return sg.sandbox(how)
end

for i, way in ipairs(ways) do
  if a.only == "" or only[i] then
    local how = sg.json.decode(a.how)
    how.name, how.limits = "s" .. i, { mem = "256MB", pids = 100, disk = "64MB", files = 4000 }
    local box = open(how)
    local chat = sg.chat { model = "scripted:demo", box = box, tools = { "shell", "read" } }
    box:write("kept.txt", "kept\n")
    local first = call(chat, "shell", { cmd = way[2]:gsub("%$W", box.workspace), timeout = way[3] or 60 })
    local second, err = call(chat, "shell", { cmd = "pwd; echo alive", timeout = 10 })
    if second:find("limit of the sandbox is reached", 1, true) then -- it began before the kill that the first one caused was over
      second, err = call(chat, "shell", { cmd = "pwd; echo alive", timeout = 10 })
    end
    local third, third_err = call(chat, "read", { path = "kept.txt" })
    print(("ROW|%s|%s|%s|%s"):format(way[1], judge(way, box, first, second, err, third, third_err), one_line(first), one_line(second)))
    box:close()
  end
end

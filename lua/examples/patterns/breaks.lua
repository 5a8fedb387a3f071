-- Where "just a tool call" breaks: a program that asks, a server with a port, a job of an hour, a large result.
--   sandglass run breaks.lua
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "work" }

-- 1. A program that asks: it runs in a shell that stays; the answer is sent when the question is there.
local shell <close> = assert(box:shell())
local asked
local r = assert(shell:run("printf 'your name? '; read name; echo \"hello $name\"", { timeout = "30s", on_out = function(s)
  if s:find "name%?" and not asked then
    asked = true
    sg.spawn(function() assert(shell:send "Ada\n") end)
  end
end }))
print("asks      " .. r.out:match "hello [^\n]*" .. (" (event #%d)"):format(r.event))

-- 2. A server with a port: it runs between the calls. The sandbox has its own localhost and no network.
local SERVER = [[use IO::Socket::INET; $| = 1; my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 8080)
or die $!; print "ready\n"; while (my $c = $s->accept) { my $l = <$c>; $n++; print $c "answer $n to $l"; close $c }]]
local CLIENT = [[use IO::Socket::INET; my $c = IO::Socket::INET->new("127.0.0.1:8080") or die $!; print $c "a request\n"; print <$c>]]
local server <close> = assert(box:spawn { "perl", "-e", SERVER })
if server:read() ~= "ready\n" then sg.exit(1, "the server did not come up") end
for _ = 1, 2 do
  local c = assert(box:run({ "perl", "-e", CLIENT }, { parallel = true }))
  print(("server    %s (event #%d)"):format(c.out:gsub("\n", ""), c.event))
end
server:kill "SIGTERM"
print("server    ended by " .. tostring(assert(server:wait()).signal))

-- 3. A job of an hour: started, watched, ended early; the calls meanwhile do not wait for it.
local job <close> = assert(box:spawn("i=0; while sleep 0.1; do i=$((i + 1)); echo step $i of 36000; done", { parallel = true }))
local steps = 0
for line in job:lines() do
  steps = steps + 1
  sg.progress(steps, 36000, line)
  if steps == 3 then
    print("job       meanwhile: " .. assert(box:run("echo another call", { parallel = true })).out:gsub("\n", ""))
    job:kill()
    break
  end
end
local j = assert(job:wait())
print(("job       ended by %s after %d steps (event #%d)"):format(tostring(j.signal or j.code), steps, j.event))

-- 4. A large result: the caller gets both ends, the recording has all. A model gets less, with a note.
local big = assert(box:run "seq 1000000")
print(("large     %d bytes, %d of them here (cut: %s); all of it: sandglass out %d"):format(big.out_bytes, #big.out,
  tostring(big.cut), big.event))
if not big.cut or not big.out:find "^1\n2\n" or not big.out:find "\n1000000\n$" then sg.exit(1, "an end is missing") end

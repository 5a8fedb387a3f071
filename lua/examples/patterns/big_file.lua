-- "Our files are too big for a tool call": a file of 10 GB, read line by line in the sandbox. Only the answer comes out.
--   sandglass run big_file.lua -- --size 10G      (about a minute: it is read, then hashed; 1G takes seconds)
local sg = require "sandglass"
local a = sg.args { size = "10G", errors = 5 }
local box <close> = sg.sandbox { name = "big", limits = { disk = "100G" } }

-- A log with long holes (sparse, so that it costs no disk here); what reads it goes through every byte all the same.
local MAKE = [[truncate -s "$1" big.log && part=$(($(stat -c %s big.log) / $2)) && i=0 && while [ $i -lt $2 ]; do
  printf '\nERROR number %d\n' $i | dd of=big.log bs=1 seek=$((i * part + part / 2)) conv=notrunc status=none
  i=$((i + 1))
done]]
assert(box:run { "sh", "-c", MAKE, "make", a.size, tostring(a.errors) })
local size = math.tointeger(assert(box:run "stat -c %s big.log").out:match "%d+")

local t0, found, last = os.clock(), 0, nil
local p <close> = assert(box:spawn "tr -d '\\0' <big.log | grep -a ERROR")
for line in p:lines() do                       -- as they come; nothing waits for the end of the file
  found, last = found + 1, line
end
local r = assert(p:wait())
local s = os.clock() - t0
if found ~= a.errors then sg.exit(1, "%d lines found, %d were written", found, a.errors) end
print(("in the box   %d bytes read in %.2f s (%.2f GB/s)"):format(size, s, size / s / 1e9))
print(("came out     %d lines, %d bytes (event #%d); the last: %s"):format(found, r.out_bytes, r.event, last))

-- Reads one part of the file.
local piece = assert(box:run "tail -c 64 big.log | wc -c")
print(("a piece      %d bytes from the end (event #%d)"):format(math.tointeger(piece.out:match "%d+"), piece.event))
local d = assert(box:diff())
print(("the record   %s: %s"):format(d[1].path, d[1].note or d[1].binary and "binary" or d[1].added .. " lines"))

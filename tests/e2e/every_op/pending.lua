-- Waits in one operation while the test kills the Lua host.
local sg = require "sandglass"
local rt = require "sandglass.runtime"
local a = sg.args { "op" }
local box = sg.sandbox { name = "one" }
local wait = {
  exec = function() box:exec "sleep 60" end,
  read = function() box:spawn("sleep 60"):read() end,
  yes = function() box:spawn("yes") sg.sleep(60) end,
  shell = function() box:shell():run "sleep 60" end,
  snapshot = function() while true do box:write("f", "x") box:snapshot() end end,
  sleep = function() sg.sleep(60) end,
  ask = function() sg.ask "Well?" end,
  held = function() sg.host.exec { "true" } end,
  host = function() sg.host.exec { "sleep", "60" } end,
  model = function() rt.call("model.call", { model = "scripted:it", messages = {}, tools = {}, reply = { text = "no" } }) end,
}
print "waits"
wait[a.op]()
print "it went on"

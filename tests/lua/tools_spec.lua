-- The part of a long output that a model sees.
local tools = require "sandglass.tools"
local spec = require "spec"
local it, eq = spec.it, spec.eq

it "a long output is shown by its head and tail, whole lines, with the event that has the rest" (function()
  local long = ("line\n"):rep(100)
  eq(tools.shorten(long, 22, 7), "line\nline\n[... 480 bytes left out; event 7 of the recording has them ...]\nline\nline\n")
  eq(tools.shorten("short", 22, 7), "short")
end)

-- The sg table: what scripts see. Types and words: lua/meta/sandglass.d.lua.
local rt = require "sandglass.runtime"
local check = require "sandglass.check"

local sg = {}
for _, part in ipairs { "box", "task", "text", "people", "outside", "args", "agent", "mcp", "proxy", "inside" } do
  local ok, m = pcall(rt.require, "sandglass." .. part)
  if not ok then error(m, 0) end
  for name, value in pairs(m.sg or {}) do sg[name] = value end
end
sg.sandbox = rt.require "sandglass.box".sandbox
sg.merge = rt.require "sandglass.box".merge
sg.is_error = rt.is_error
sg.exit = function(code, fmt, ...)
  check.arg("exit", "code", code, "integer?")
  if fmt ~= nil then fmt = select("#", ...) > 0 and string.format(fmt, ...) or tostring(fmt) end
  rt.exit(code or 0, fmt)
end

return setmetatable(sg, {
  __metatable = false,
  __index = function(_, k) rt.fail("sg has no '%s'%s", tostring(k), check.suggest(k, sg)) end,
})

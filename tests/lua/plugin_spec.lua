-- Errors from a model plugin in each format, and its own mistakes.
local plugin = require "sandglass.plugin"
local spec = require "spec"
local it, eq = spec.it, spec.eq

local function finished(finish)
  local p = { name = "mine", request = function() return {} end, finish = finish }
  plugin.serve(p, { fn = "request", call = 1, args = { req = {} } })
  return plugin.serve(p, { fn = "finish", call = 1, args = {} }).wrong
end

it "finish that gives neither a reply nor a reason" (function()
  eq(finished(function() return nil end).msg,
    'mine: the plugin is faulty: finish returned neither a reply nor a reason (return nil, { msg = "..." })')
end)

it "a reason that is a text, or a table" (function()
  eq(finished(function() return nil, "no  more\nmoney" end).msg, "no more money")
  eq(finished(function() return nil, { msg = "busy", status = 529 } end).status, 529)
end)

it "wrong that is a text, raises, or is not there" (function()
  local function wrong(fn) return plugin.serve({ name = "mine", wrong = fn }, { fn = "wrong", call = 1, args = { status = 500, text = "gone" } }) end
  eq(wrong(function(status) return "HTTP " .. status end).msg, "HTTP 500")
  eq(wrong(nil).msg, "gone")
  local ok, e = pcall(wrong, function(_, text) return text.error.message end)
  eq(ok, false)
  eq(tostring(e):find("mine: the answer is not from the API, or the plugin is faulty: ", 1, true), 1)
end)

it "base64 of any bytes; ends of lines and what fills the end are passed over" (function()
  local sandbox = require "sandglass.plugin_sandbox"
  local all = {}
  for i = 0, 255 do all[i + 1] = string.char(i) end
  all = table.concat(all)
  for n = 0, 5 do eq(sandbox.base64_decode(sandbox.base64_encode(all:sub(1, 250 + n))), all:sub(1, 250 + n)) end
  eq(sandbox.base64_encode "ab", "YWI=")
  eq(sandbox.base64_decode "YW\r\nI", "ab")
  eq(sandbox.base64_decode "YWI=\n", "ab")
  eq(sandbox.base64_decode "", "")
end)

it "request that gives nothing says why" (function()
  local function asked(fn) return plugin.serve({ name = "mine", request = fn }, { fn = "request", call = 2, args = { req = {} } }) end
  local ok, e = pcall(asked, function() return nil, { msg = "no such model" } end)
  eq(ok, false)
  eq(e, "no such model")
  ok, e = pcall(asked, function() end)
  eq(ok, false)
  eq(e, 'mine: the plugin is faulty: request returned neither a reply nor a reason (return nil, { msg = "..." })')
end)

-- The parts that plugins share. A plugin file returns a table. For kind = "sandbox", see
-- plugin_sandbox.lua. A model plugin, of kind "model", has:
--   request(req, st) -> { path or url, headers = { NAME = value }, body = text, method? }
--       "{key}" in a header stands for the credential, which is filled in outside.
--       req = { model, tools = { { name, about, schema } }, options, messages }
--       messages = { { role, text, calls, call, error, raw, dialect, media } }
--       media of a tool = { { mime, data in base64, uri } }; media() divides it
--       role: system, user, assistant, or tool
--   event(ev, st) -> nil, or { text = , thinking = , effect = bool }
--       ev: one server-sent event { type, data }
--   finish(st) -> reply, or nil, { msg, status, cut }
--       reply = { text, calls = { { id, name, args } }, usage, stop, raw, dialect }
--       usage = { in, out, cached, written } or { unknown = true }
--       stop = "end", "calls", "length", or "refused"
--   whole(text, st)        a body without a stream, if the server did not stream
--   wrong(status, text) -> { msg, status?, compact? }     an error body in one line
--   hosts, auth = { header = "x-api-key: {key}" }, env = { names of variables }, url
--   models = { NAME = { window, out, usd = { input, output, ... } } }     USD per million tokens
-- st is a table for this call alone. The functions can't wait.
--
-- local p = require "sandglass.plugin" has for both kinds:
--   encode(v)              JSON
--   decode(text, nulls?)   -> v, or nil and the reason
--   list(t)                an array, also an empty one
--   null                   JSON's null
--   clean(text)            the part that JSON can hold
--   error_text(body)       the message of an error in any shape
--   object, body, array    JSON from pieces that are JSON already: the provider's text goes back
--                          unchanged
--   call(id, name, args)   one call of a reply
--   schema(s)              the JSON schema of a tool
--   media(m, options, takes) -> the media of a result for which takes(mime, item) is true, and its
--                          text, which names the others
--   images                 { TYPE = true }: images that Anthropic and OpenAI take
--   data_url(item)         one of the media as a data: URL
--   is_too_long(text)      true for an error about the context window
local rt = require "sandglass.runtime"
local core = rt.core

local M = { list_mt = core.array_mt, null = core.null }

function M.encode(v) return core.encode(v) end

-- nil and the reason if it is not JSON. Fields that are null are left away, or with `nulls` kept (as M.null): what a
-- provider said goes back to it with them.
function M.decode(s, nulls)
  local ok, v, why = pcall(core.decode, s, nulls)
  if not ok then return nil, tostring(v) end
  return v, why
end

function M.list(t) return setmetatable(t or {}, core.array_mt) end

-- Bytes that are no UTF-8, and NUL, become U+FFFD.
function M.clean(s)
  s = tostring(s or "")
  local out, from = {}, 1
  s = s:gsub("\0", "\u{FFFD}")
  while true do
    local n, bad = utf8.len(s, from)
    if n then break end
    out[#out + 1] = s:sub(from, bad - 1)
    out[#out + 1] = "\u{FFFD}"
    from = bad + 1
  end
  if #out == 0 then return s end
  out[#out + 1] = s:sub(from)
  return table.concat(out)
end

-- An object out of pieces that are JSON already: M.object { { "model", '"x"' }, { "messages", text } }
function M.object(pairs_)
  local out = {}
  for _, p in ipairs(pairs_) do
    if p[2] ~= nil then out[#out + 1] = core.encode(p[1]) .. ":" .. p[2] end
  end
  return "{" .. table.concat(out, ",") .. "}"
end

-- The body of a request as a list of pieces: an object whose last field is a list. A conversation grows at its end, so
-- that each piece stays what it was from call to call, and the record keeps it once.
function M.body(fields, name, items)
  local head = M.object(fields)
  local out = M.list { (head == "{}" and "{" or head:sub(1, -2) .. ",") .. core.encode(name) .. ":[" }
  for i, item in ipairs(items) do out[#out + 1] = (i > 1 and "," or "") .. item end
  out[#out + 1] = "]}"
  return out
end

function M.array(pieces) return "[" .. table.concat(pieces, ",") .. "]" end

-- Parses a call's arguments from the model's text: returns a table, or nil and the error.
function M.arguments(text)
  if text == nil or text == "" or text == M.null then return {} end
  if type(text) == "table" then return text end
  local v, why = M.decode(text)
  if type(v) ~= "table" then return nil, why or "not an object" end
  return v
end

-- One tool call of a reply; arguments that are no JSON stay as text in `bad`, for the model to repair.
function M.call(id, name, text)
  if math.type(id) == "integer" then id = tostring(id) end
  if type(id) ~= "string" or type(name) ~= "string" then
    error("the answer is not from the API: a tool call without an id or a name", 0)
  end
  local args, why = M.arguments(text)
  if args then return { id = id, name = name, args = args } end
  return { id = id, name = name, bad = M.clean(type(text) == "string" and text:sub(1, 4000) or ""), why = why }
end

-- The media of a result that a model takes, and its text, which names the others. takes(mime, item); options.images = false: none.
function M.media(m, options, takes)
  local list, text = M.list {}, { m.text ~= "" and M.clean(m.text) or nil }
  for _, item in ipairs(m.media or {}) do
    if (options or {}).images ~= false and takes(item.mime, item) then
      list[#list + 1] = item
    else
      text[#text + 1] = ("[left out: %s, %d bytes%s; this model doesn't take it]"):format(M.clean(item.mime), #item.data * 3 // 4,
        item.uri and ", " .. M.clean(item.uri) or "")
    end
  end
  return list, table.concat(text, "\n")
end

-- Images that the APIs of Anthropic and OpenAI take.
M.images = { ["image/png"] = true, ["image/jpeg"] = true, ["image/gif"] = true, ["image/webp"] = true }

function M.data_url(item) return ("data:%s;base64,%s"):format(item.mime, item.data) end

function M.schema(s)
  return s or { type = "object", properties = {} }
end

-- A message of an error body, whatever its shape.
function M.error_text(text)
  local v = M.decode(text)
  local function look(t)
    if type(t) ~= "table" then return type(t) == "string" and t or nil end
    return look(t.error) or (type(t.message) == "string" and t.message) or (type(t.detail) == "string" and t.detail)
      or (type(t[1]) == "table" and look(t[1])) or nil
  end
  local msg = look(v)
  if msg then return msg, v end
  text = text:gsub("<style.-</style>", " "):gsub("<[^>]*>", " "):gsub("%s+", " "):gsub("^ ", "")
  return text ~= "" and text:sub(1, 200) or "an empty answer", v
end

local TOO_LONG = {
  "prompt is too long", "context_length_exceeded", "exceed_context_size", "maximum context length",
  "input token count.-exceeds", "context window",
}

function M.is_too_long(text)
  text = text:lower()
  for _, p in ipairs(TOO_LONG) do if text:find(p) then return true end end
  return false
end

-- Another service's error as one readable line.
local function line_of(msg)
  local text = type(msg) == "string" and M.clean(msg):gsub("%s+", " ") or ""
  return text ~= "" and text or "an error without a text"
end

-- An error of Lua's own in a plugin, in a line for users: mostly an answer was of another shape than it expects.
function M.unexpected(plugin, e)
  local msg = line_of(e)
  return msg:find "%.lua:%d+: " and ("%s: the answer is not from the API, or the plugin is faulty: %s"):format(plugin.name or "a plugin", msg) or msg
end

-- A plugin's error: a table with msg, or just its text.
local function fault(plugin, fn, e)
  if type(e) == "string" then return { msg = e } end
  if type(e) == "table" then return e end
  return { msg = ("%s: the plugin is faulty: %s returned neither a reply nor a reason (return nil, { msg = \"...\" })"):format(plugin.name or "a plugin", fn) }
end

-- In the plugin host -------------------------------------------------------------------------------------------------

local states = {}

local function take_events(plugin, events, st)
  local text, thinking, effect = {}, {}, false
  for _, ev in ipairs(events) do
    local d = plugin.event(ev, st)
    if d then
      text[#text + 1], thinking[#thinking + 1] = d.text, d.thinking
      effect = effect or d.effect
    end
  end
  return { text = table.concat(text), thinking = table.concat(thinking), effect = effect or nil }
end

-- Runs one function of the plugin for a call; state lives from "request" to "finish" or "drop".
function M.serve(plugin, ask)
  if plugin.kind == "sandbox" then return require("sandglass.plugin_sandbox").serve(plugin, ask) end
  local st = states[ask.call]
  if ask.fn == "request" then
    st = { retry = ask.args.retry }
    states[ask.call] = st
    local made, e = plugin.request(ask.args.req, st)
    if not made then error(fault(plugin, "request", e).msg or "an error without a text", 0) end
    return made
  end
  if ask.fn == "drop" then
    states[ask.call] = nil
    return {}
  end
  if ask.fn == "wrong" then
    local ok, e = pcall(plugin.wrong or function() end, ask.args.status, ask.args.text)
    if not ok then error(M.unexpected(plugin, e), 0) end
    if not e then
      local msg = M.error_text(ask.args.text)
      e = { msg = msg, compact = M.is_too_long(msg) }
    end
    e = fault(plugin, "wrong", e)
    e.msg = line_of(e.msg)
    return e
  end
  if not st then error("no such call", 0) end
  if ask.fn == "events" then
    local ok, v = pcall(take_events, plugin, ask.args.events, st)
    return ok and v or error(M.unexpected(plugin, v), 0)
  end
  if ask.fn == "finish" then
    states[ask.call] = nil
    local ok, reply, wrong = pcall(function()
      if ask.args.whole and plugin.whole then plugin.whole(ask.args.whole, st) end
      return plugin.finish(st)
    end)
    if not ok then error(M.unexpected(plugin, reply), 0) end
    if reply then return { reply = reply } end
    wrong = fault(plugin, "finish", wrong)
    if wrong.cut and ask.args.whole and ask.args.whole ~= "" then   -- complete, but from another server
      wrong = { msg = "the answer is not from the API: " .. M.error_text(ask.args.whole), status = 400 }
    end
    wrong.msg = line_of(wrong.msg)
    if M.is_too_long(wrong.msg) then wrong.compact = true end
    return { wrong = wrong }
  end
  error("no function '" .. tostring(ask.fn) .. "'", 0)
end

-- The plain half of a plugin: everything that is not a function.
function M.face(plugin)
  if type(plugin) ~= "table" then error("a plugin file returns a table, not a " .. type(plugin), 0) end
  local function plain(v)
    if type(v) ~= "table" then return v end
    local out = setmetatable({}, core.metatable(v) == core.array_mt and core.array_mt or nil)
    for k, item in pairs(v) do if type(item) ~= "function" then out[k] = plain(item) end end
    return out
  end
  local face, has = plain(plugin), M.list {}
  local names = { "request", "event", "finish", "whole", "wrong" }
  if plugin.kind == "sandbox" then names = require("sandglass.plugin_sandbox").functions end
  for _, fn in ipairs(names) do
    if type(plugin[fn]) == "function" then has[#has + 1] = fn end
  end
  face.functions = has
  return face
end

return M

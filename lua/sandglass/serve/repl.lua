-- Code interpreters of the programs that `sandglass serve` serves: part of sandglass.serve. A context is an interpreter that
-- stays in the sandbox; there is a default one for each language.
local s = require "sandglass.serve"
local sg = require "sandglass"

local M = {}

local LANGUAGE = { python = "python", python3 = "python", javascript = "node", js = "node", node = "node" }

local function open(b, id, language, cwd)
  local engine = LANGUAGE[language] or s.fail(400, ("unknown language '%s': expected python or javascript"):format(tostring(language)), "BAD_REQUEST")
  local repl, err = b.box:interpreter(engine, { cwd = cwd })
  if not repl then error(err, 0) end
  local c = { id = id, language = language, cwd = cwd or b.box.workspace, born = s.now(), repl = repl, turns = sg.channel(1) }
  b.repls[id] = c
  return c
end

local function all(b)
  b.repls = b.repls or {}
  return b.repls
end

function M.create(b, language, cwd)
  all(b)
  return open(b, s.uuid(), language or "python", cwd)
end

-- The context with this id; without one, the default context of the language.
function M.get(b, id, language)
  if id and id ~= "" then return all(b)[id] or s.fail(404, ("context %s not found"):format(tostring(id)), "CONTEXT_NOT_FOUND") end
  language = language or "python"
  return all(b)["default-" .. language] or open(b, "default-" .. language, language)
end

function M.list(b)
  local list, ids = s.list(), {}
  for id in pairs(all(b)) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do list[i] = all(b)[id] end
  return list
end

function M.delete(b, id)
  local c = M.get(b, id)
  all(b)[c.id] = nil
  c.repl:close()
end

-- Starts the interpreter again, without its variables.
function M.restart(b, id)
  local c = M.get(b, id)
  c.repl:close()
  return open(b, c.id, c.language, c.cwd)
end

-- Runs code; told(type, text) gets its output as it comes ("stdout", "stderr"), then { value? } and { error? = { name, value,
-- traceback } } come back, or nil and an error of sandglass.
function M.run(b, c, code, o, told)
  b.busy = b.busy + 1
  local ok, r, err = pcall(c.repl.run, c.repl, code, { timeout = o.timeout, env = o.env, structured = true,
    on_out = function(text, stream) told("std" .. stream, text) end })
  b.busy = b.busy - 1
  if not ok then error(r, 0) end
  if not r then return nil, err end
  return r
end

return M

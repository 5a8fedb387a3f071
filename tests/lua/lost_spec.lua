-- A dead sandbox is opened again once, even if callers are cancelled meanwhile. This file plays the
-- supervisor.
local rt = require "sandglass.runtime"
local real, play, restores = rt.call, {}, 0
function rt.call(op, args, on_chunk) return (play[op] or real)(play[op] and args or op, args, on_chunk) end
local sg = require "sandglass"
local box_lib = require "sandglass.box"
local spec = require "spec"
local it, eq = spec.it, spec.eq

play["box.read"] = function(args)
  real("sleep", { us = 1000 })
  if args.box == 1 then return nil, rt.err { code = "io", msg = "its box has died" } end
  return { data = "there" }
end
play["box.restore"] = function()
  restores = restores + 1
  real("sleep", { us = 100000 })
  return { box = 2, name = "c-2" }
end

it "a task that is cancelled while it opens a lost box again leaves it to the others" (function()
  local box = box_lib.handle({ box = 1, name = "c" }, "restore")
  local function look()
    local _, err = box:read "f"
    return err.code .. " " .. box:read "f"
  end
  local one, two = sg.spawn(look), sg.spawn(look)
  sg.sleep "20ms"
  one:cancel "no more"
  eq(two:await "2s", "lost there")
  local _, err = one:await()
  eq(err.code, "cancelled")
  eq({ box.name, restores }, { "c-2", 1 })
end)

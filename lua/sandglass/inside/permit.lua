-- An agent's permission requests. A request is checked against policy as the action that it
-- describes, decided by rules or users, and recorded with the meaning of the agent's own "always".
-- Of several allowing answers the one for this time is taken: lasting rules are ours only.
local rt = require "sandglass.runtime"

local M = {}

-- o: call (its id), tool, args, title, options [{ id, kind, name }], text. Returns { allowed, option (one of options), edited (command
-- text)?, why? }. Whatever else it comes to than a yes is a refusal, which the agent hears: a rule, a user, a kill while it waited.
function M.ask(told, box, o)
  local names = {}
  for i, x in ipairs(o.options or {}) do names[i] = x.kind and ("%s (%s)"):format(x.name, x.kind) or x.name end
  if told.keep then told.keep() end
  local v, err = rt.call("inner.permit", {
    box = box.id, tool = o.tool, call = o.call, args = o.args, title = o.title, options = #names > 0 and names or nil, text = o.text,
  })
  local option
  for _, kind in ipairs(v and { "allow_once", "allow_always" } or { "reject_once", "reject_always" }) do
    for _, x in ipairs(o.options or {}) do if not option and x.kind == kind then option = x end end
  end
  local ran = v and v.edited and type(v.ran) == "table" and v.ran.cmd or nil
  local words = not v and "refused" or v.edited and "edited" or v.before and "allowed as judged before" or "allowed"
  told.put("permit", ("%s: %s"):format(words, o.title or o.tool), {
    call = o.call, title = o.title, options = o.options, allowed = v ~= nil, option = option and option.id, action = v and v.event or err.event,
    before = v and v.before or nil, edited = ran, why = err and (err.why or err.msg) or nil,
  })
  return { allowed = v ~= nil, option = option, edited = ran, is_edited = v and v.edited, why = err and (err.why or err.msg) or nil }
end

return M

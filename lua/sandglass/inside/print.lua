-- Agents by their command line: a run does one task, prints its progress, and ends. The next
-- message is another run that continues the session. It can't ask while it runs: the proxy checks
-- its calls.
local rt = require "sandglass.runtime"

local M = { name = "print", once = true }

function M.open(w, x) return { wire = w, told = x.told, profile = x.profile, task = x } end

function M.prompt(s)
  local profile, text, wrong = s.profile, nil, nil
  local input = profile.stdin and profile.stdin(s.task) or ""
  rt.call("proc.write", { proc = s.wire.proc.id, data = input, eof = true })
  while true do
    local ev, line = s.wire.line()
    if not line then break end
    local note, final, bad
    if ev and profile.line then note, final, bad = s.wire.take(profile.line, ev) else note = not ev and line or nil end
    if note and note ~= "" then
      s.told.piece("text", note)
      s.told.flush()
    end
    text, wrong = final or text, bad or wrong
  end
  local r, err = s.wire.ended()
  if not r then return nil, err end
  return { code = r.code, text = text, error = wrong, err = s.wire.last ~= "" and s.wire.last or nil, event = r.event }
end

return M

-- Cursor's agent. Its inference runs on Cursor's own servers, as Amp's does: contained, watched, recorded, no more. Its own
-- credential is the box's: env = { CURSOR_API_KEY = ... }, net = { "*.cursor.sh:443" }.
local function text_of(content)
  for _, b in ipairs(type(content) == "table" and content or {}) do
    if b.type == "text" and b.text and b.text ~= "" then return b.text end
  end
end

return {
  name = "cursor", about = "Cursor's agent (from cursor.com): contained and watched only, its model is Cursor's server", program = "cursor-agent",
  versions = "", install = "install it from cursor.com/cli", speak = "anthropic", provider = "anthropic", model = "own",
  credential = "CURSOR_API_KEY", server = "*.cursor.sh:443",
  argv = function(x)
    local argv = { x.program, "-p", x.task, "--output-format", "stream-json", "--force" }
    if x.again then argv[#argv + 1] = "--continue" end
    return argv
  end,
  env = function() return {} end,
  line = function(ev)
    if ev.type == "assistant" then return text_of(ev.message and ev.message.content) end
    if ev.type == "result" then return nil, ev.result, ev.is_error and (ev.result or ev.subtype) or nil end
  end,
}

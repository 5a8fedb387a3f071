-- Amp. Its inference runs on Amp's own servers: no key can be added outside, no tool call is
-- checked at a proxy, and usage is not counted. The agent is contained; its programs, connections,
-- and output are recorded. Its own credential is the sandbox's: env = { AMP_API_KEY = ... }, and
-- its server must be reachable: net = { "ampcode.com:443" }.
local function text_of(content)
  for _, b in ipairs(type(content) == "table" and content or {}) do
    if b.type == "text" and b.text and b.text ~= "" then return b.text end
  end
end

return {
  name = "amp", about = "Amp (npm @sourcegraph/amp): contained and watched only, its model is Amp's server", program = "amp",
  versions = "0.0.1790142911", install = "npm install @sourcegraph/amp", speak = "anthropic", provider = "anthropic", model = "own",
  credential = "AMP_API_KEY", server = "ampcode.com:443",
  argv = function(x)
    local argv = { x.program }
    if x.again then for _, w in ipairs { "threads", "continue" } do argv[#argv + 1] = w end end
    for _, w in ipairs { "-x", x.task, "--stream-json", "--dangerously-allow-all" } do argv[#argv + 1] = w end
    return argv
  end,
  env = function() return { AMP_SKIP_UPDATE_CHECK = "1" } end,
  line = function(ev)
    if ev.type == "assistant" then return text_of(ev.message and ev.message.content) end
    if ev.type == "result" then return nil, ev.result, ev.is_error and (ev.error or ev.result or ev.subtype) or nil end
  end,
}

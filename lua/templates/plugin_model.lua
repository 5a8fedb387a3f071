-- @NAME@: models of ... ('plugin ls' shows this line)
-- A service of models in one file: a request made from a conversation, and a reply read from its answer. The file has no key and no
-- network: the result of request() is sent for it, "{key}" is filled in outside, and event() receives the answer.
--   sandglass plugin add @NAME@.lua        then in config.lua:
--   c.models = { @NAME@ = { plugin = "@NAME@", key = "@CAPS@_API_KEY" } }
--   sandglass run --model @NAME@:some-model agent.lua
-- It is written for an API that streams server-sent events with { text }, { call } and { end }: make it yours.
-- A server that speaks as one of OpenAI's, Anthropic's or Google's needs no file: plugin = "openai_chat", url = "...".
local p = require "sandglass.plugin"

local M = {
  kind = "model", name = "@NAME@", dialect = "@NAME@",
  url = "https://api.example.com/v1", hosts = p.list { "api.example.com" },
  env = { key = "@CAPS@_API_KEY", url = "@CAPS@_URL" },          -- names of variables
  auth = { header = "Authorization: Bearer {key}" },
  -- USD for a million tokens; what a model that is not named here costs is "$?"
  models = { ["some-model"] = { window = 200000, out = 8192, usd = { input = 3, output = 15, read = 0.3, write = 3.75 } } },
}

-- One message as this API wants it. Roles: system, user, assistant (with calls), tool (what call `m.call` gave).
local function message(m)
  local calls
  for _, c in ipairs(m.calls or {}) do
    calls = calls or p.list {}
    calls[#calls + 1] = { id = c.id, name = c.name, args = c.bad or c.args }
  end
  return p.encode { role = m.role, text = p.clean(m.text), calls = calls, call = m.call }
end

-- st is this call's own, from here to finish().
function M.request(req, st)
  st.text, st.calls = {}, p.list {}
  local tools, messages = p.list {}, {}
  for i, t in ipairs(req.tools) do tools[i] = { name = t.name, about = t.about, schema = p.schema(t.schema) } end
  for i, m in ipairs(req.messages) do messages[i] = message(m) end
  local fields = { { "model", p.encode(req.model) }, { "stream", "true" }, { "tools", p.encode(tools) } }
  return { path = "/chat", body = p.body(fields, "messages", messages), headers = {} }
end

-- Handles one server-sent event. The returned text is shown while the model answers.
function M.event(ev, st)
  local e = p.decode(ev.data)
  if type(e) ~= "table" then return nil end
  if e.error then
    st.wrong = { msg = p.error_text(ev.data), status = 500 }   -- 500: asked again; 400: not
  elseif e.call then
    st.calls[#st.calls + 1] = p.call(e.call.id, e.call.name, e.call.args)
    return { effect = true }
  elseif e["end"] then
    st.stop, st.usage = e["end"].why, { ["in"] = e["end"].tokens_in, out = e["end"].tokens_out }
  elseif type(e.text) == "string" then
    st.text[#st.text + 1] = e.text
    return { text = e.text }
  end
end

-- Returns the reply, or nil and the error. cut: the answer broke off, so the request is repeated.
-- stop: "end", "calls", "length" (no more room), "refused". A usage that is not told: { unknown = true }.
function M.finish(st)
  if st.wrong then return nil, st.wrong end
  if not st.stop then return nil, { msg = "the answer broke off", status = 0, cut = true } end
  return { text = table.concat(st.text), calls = st.calls, usage = st.usage, dialect = M.dialect,
    stop = #st.calls > 0 and "calls" or st.stop == "length" and "length" or "end" }
end

return M

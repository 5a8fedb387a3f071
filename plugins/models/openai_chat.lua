-- OpenAI Chat Completions and the servers that speak it: POST {base}/chat/completions, streamed.
-- A server's missing features are a row in CAPS; "provider.caps" in the configuration changes it.
local p = require "sandglass.plugin"

local M = {
  name = "openai_chat", kind = "model", dialect = "openai_chat",
  url = "https://api.openai.com/v1", hosts = p.list { "api.openai.com" },
  env = { key = "OPENAI_API_KEY", url = "OPENAI_BASE_URL" },
  auth = { header = "Authorization: Bearer {key}" },
  models = {},
}

local CAPS = {
  usage = true,          -- stream_options.include_usage
  max_field = "max_completion_tokens",
  developer = false,     -- role "developer" instead of "system"
  temperature = true, seed = true, effort = true, parallel = true,
  images = true,         -- in messages of the user; a local server has it from its model
  echo_reasoning = false, -- reasoning_details of an answer go back (OpenRouter)
}

local function caps_of(req)
  local caps = {}
  for k, v in pairs(CAPS) do caps[k] = v end
  for k, v in pairs(req.caps or {}) do caps[k] = v end
  return caps
end

local function assistant(m, caps)
  local out = { role = "assistant", content = m.text ~= "" and p.clean(m.text) or p.null }
  if m.calls and #m.calls > 0 then
    out.tool_calls = p.list {}
    for i, c in ipairs(m.calls) do
      out.tool_calls[i] = { id = c.id, type = "function",
        ["function"] = { name = c.name, arguments = c.bad or p.encode(c.args or {}) } }
    end
  elseif out.content == p.null then
    out.content = ""
  end
  if caps.echo_reasoning and m.raw and m.dialect == "openai_chat" then out.reasoning_details = p.decode(m.raw, true) end
  return out
end

local function conversation(messages, caps, options)
  local list, images = {}, p.list {}
  local function takes(mime) return (caps.images or options.images) and p.images[mime] end
  local function flush()   -- a message of a tool can't hold images: they follow the last of the turn
    if #images > 0 then list[#list + 1] = p.encode { role = "user", content = images } end
    images = p.list {}
  end
  for _, m in ipairs(messages) do
    local out
    if m.role ~= "tool" then flush() end
    if m.role == "assistant" then
      out = assistant(m, caps)
    elseif m.role == "tool" then
      local media, text = p.media(m, options, takes)
      out = { role = "tool", tool_call_id = m.call, content = (m.error and "error: " or "") .. text }
      if #media > 0 then
        images[#images + 1] = { type = "text", text = ("(images of the result of %s)"):format(m.name or m.call or "a tool") }
      end
      for _, item in ipairs(media) do
        images[#images + 1] = { type = "image_url", image_url = { url = p.data_url(item) } }
      end
    else
      out = { role = m.role == "system" and caps.developer and "developer" or m.role, content = p.clean(m.text) }
    end
    list[#list + 1] = p.encode(out)
  end
  flush()
  return list
end

local function tool_list(tools)
  local list = p.list {}
  for i, t in ipairs(tools) do
    list[i] = { type = "function",
      ["function"] = { name = t.name, description = t.about, parameters = p.schema(t.schema) } }
  end
  return list
end

function M.request(req, st)
  local o, caps = req.options or {}, caps_of(req)
  local body = { model = req.model, stream = true }
  if caps.usage then body.stream_options = { include_usage = true } end
  if #req.tools > 0 then
    body.tools = tool_list(req.tools)
    body.tool_choice = o.tool_choice
    if caps.parallel and o.parallel ~= nil then body.parallel_tool_calls = o.parallel end
  end
  local max = o.max_tokens
  if max and st.retry == "longer" then max = max * 2 end
  body[caps.max_field] = max
  if caps.temperature then body.temperature = o.temperature end
  if caps.seed then body.seed = o.seed end
  if caps.effort then body.reasoning_effort = o.effort end
  st.calls, st.text, st.reasoning, st.usage, st.done = {}, {}, {}, nil, false
  local fields = {}
  for k, v in pairs(body) do fields[#fields + 1] = { k, p.encode(v) } end
  local messages = conversation(req.messages, caps, o)
  return { path = "/chat/completions", body = p.body(fields, "messages", messages), headers = {} }
end

-- A fragment belongs to the call with its index; a new id at the same index is a new call; no index: the last one.
local function call_of(st, f, position)
  local index = f.index
  if index == nil or index == p.null then index = f.id and #st.calls or math.max(#st.calls - 1, position - 1) end
  for i = #st.calls, 1, -1 do
    local c = st.calls[i]
    if c.index == index then
      if not f.id or f.id == "" or f.id == p.null or c.id == nil or c.id == f.id then return c end
      break
    end
  end
  local c = { index = index, args = {} }
  st.calls[#st.calls + 1] = c
  return c
end

local function take_call(st, f, position)
  local c, fn = call_of(st, f, position), f["function"] or {}
  if f.id and f.id ~= "" and f.id ~= p.null then c.id = f.id end
  if fn.name and fn.name ~= p.null then c.name = c.name or fn.name end
  if type(fn.arguments) == "table" then
    c.whole = fn.arguments
  elseif type(fn.arguments) == "string" then
    c.args[#c.args + 1] = fn.arguments
  end
end

local function text_of(v) return type(v) == "string" and v ~= "" and v or nil end

local function take_message(st, d)
  for i, f in ipairs(type(d.tool_calls) == "table" and d.tool_calls or {}) do take_call(st, f, i) end
  local text = text_of(d.content)
  if text then st.text[#st.text + 1] = text end
  if type(d.reasoning_details) == "table" then
    for _, r in ipairs(d.reasoning_details) do st.reasoning[#st.reasoning + 1] = r end
  end
  st.refusal = text_of(d.refusal) or st.refusal
  return { text = text, thinking = text_of(d.reasoning) or text_of(d.reasoning_content),
    effect = #st.calls > 0 or nil }
end

local function take_error(st, e)
  local code = tonumber(type(e) == "table" and e.code or nil)
  st.wrong = { msg = type(e) == "table" and (e.message or e.type) or tostring(e), status = code or 500 }
end

function M.event(ev, st)
  if ev.data:find "^%s*%[DONE%]" then
    st.done = true
    return nil
  end
  local e = p.decode(ev.data)
  if type(e) ~= "table" then return nil end
  if e.error and e.error ~= p.null then return take_error(st, e.error) end
  if e.object == "error" then return take_error(st, e) end
  if type(e.usage) == "table" then st.usage = e.usage end
  if type(e.service_tier) == "string" and e.service_tier ~= "default" then st.tier = e.service_tier end
  st.id = e.id or st.id
  local c = type(e.choices) == "table" and e.choices[1]
  if not c then return nil end
  if c.finish_reason and c.finish_reason ~= p.null then st.stop = c.finish_reason end
  return take_message(st, c.delta or c.message or {})
end

function M.whole(text, st)
  local e = p.decode(text)
  if type(e) ~= "table" then return end
  M.event({ data = text }, st)
end

local STOP = {
  stop = "end", length = "length", tool_calls = "calls", content_filter = "refused", function_call = "calls",
}

function M.finish(st)
  if st.wrong then return nil, st.wrong end
  if not st.stop and not st.done then return nil, { msg = "the answer was cut off", status = 0, cut = true } end
  local calls, u = p.list {}, st.usage or {}
  for i, c in ipairs(st.calls) do
    calls[i] = p.call(c.id or ("call_%d"):format(i), c.name or "?", c.whole or table.concat(c.args))
  end
  local stop = STOP[st.stop or "stop"] or "end"
  local again = stop == "length" and #calls > 0 and not st.retry and "longer" or nil
  if stop == "length" then calls = p.list {} end   -- the last one is cut in the middle
  local inside = type(u.prompt_tokens_details) == "table" and u.prompt_tokens_details or {}
  local text = table.concat(st.text)
  return {
    again = again, text = text ~= "" and text or st.refusal or "", calls = calls, id = st.id, dialect = "openai_chat",
    stop = st.refusal and "refused" or #calls > 0 and "calls" or stop == "calls" and "end" or stop,
    raw = #st.reasoning > 0 and p.encode(p.list(st.reasoning)) or nil,
    usage = { ["in"] = u.prompt_tokens or 0, out = u.completion_tokens or 0,
      cached = tonumber(inside.cached_tokens) or 0, written = tonumber(inside.cache_write_tokens) or 0,
      tier = st.tier, unknown = st.usage == nil or nil },
  }
end

return M

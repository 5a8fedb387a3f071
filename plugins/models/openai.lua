-- OpenAI Responses: POST {base}/responses, streamed and stateless: nothing is stored there, the items of an answer
-- (encrypted reasoning too) go back as they came.
local p = require "sandglass.plugin"

local M = {
  name = "openai", kind = "model", dialect = "openai",
  url = "https://api.openai.com/v1", hosts = p.list { "api.openai.com" },
  env = { key = "OPENAI_API_KEY", url = "OPENAI_BASE_URL" },
  auth = { header = "Authorization: Bearer {key}" },
  models = {},
}

local function items_of(m)
  if m.raw and m.dialect == "openai" then return m.raw:sub(2, -2) end   -- without the brackets of the list
  local items = {}
  if m.text and m.text ~= "" then
    items[1] = p.encode { type = "message", role = "assistant",
      content = p.list { { type = "output_text", text = p.clean(m.text), annotations = p.list {} } } }
  end
  for _, c in ipairs(m.calls or {}) do
    items[#items + 1] = p.encode { type = "function_call", call_id = c.id, name = c.name,
      arguments = c.bad or p.encode(c.args or {}) }
  end
  return table.concat(items, ",")
end

local function takes(mime) return p.images[mime] or mime == "application/pdf" end

local function output_of(m, options)
  local media, text = p.media(m, options, takes)
  text = (m.error and "error: " or "") .. text
  if #media == 0 then return text end
  local parts = p.list { text ~= "" and { type = "input_text", text = text } or nil }
  for i, item in ipairs(media) do
    parts[#parts + 1] = p.images[item.mime] and { type = "input_image", image_url = p.data_url(item), detail = "auto" }
      or { type = "input_file", filename = ("file%d.pdf"):format(i), file_data = p.data_url(item) }
  end
  return parts
end

local function conversation(messages, options)
  local system, items = {}, {}
  for _, m in ipairs(messages) do
    local item
    if m.role == "system" then
      system[#system + 1] = p.clean(m.text)
    elseif m.role == "assistant" then
      item = items_of(m)
    elseif m.role == "tool" then
      item = p.encode { type = "function_call_output", call_id = m.call,
        output = output_of(m, options) }
    else
      item = p.encode { role = "user", content = p.list { { type = "input_text", text = p.clean(m.text) } } }
    end
    if item and item ~= "" then items[#items + 1] = item end
  end
  return table.concat(system, "\n\n"), items
end

local function tool_list(tools)
  local list = p.list {}
  for i, t in ipairs(tools) do
    list[i] = {
      type = "function", name = t.name, description = t.about, parameters = p.schema(t.schema), strict = false,
    }
  end
  return list
end

function M.request(req, st)
  local o = req.options or {}
  local system, input = conversation(req.messages, o)
  local max = o.max_tokens
  if max and st.retry == "longer" then max = max * 2 end
  local reasoning = o.effort and { effort = o.effort, summary = o.summary } or nil
  local body = p.body({
    { "model", p.encode(req.model) }, { "stream", "true" }, { "store", "false" },
    { "include", '["reasoning.encrypted_content"]' },
    { "instructions", system ~= "" and p.encode(system) or nil },
    { "tools", #req.tools > 0 and p.encode(tool_list(req.tools)) or nil },
    { "tool_choice", #req.tools > 0 and o.tool_choice and p.encode(o.tool_choice) or nil },
    { "max_output_tokens", max and p.encode(max) or nil },
    { "reasoning", reasoning and p.encode(reasoning) or nil },
    { "temperature", not o.effort and o.temperature and p.encode(o.temperature) or nil },
  }, "input", input)
  st.items, st.ended = {}, nil
  return { path = "/responses", body = body, headers = {} }
end

-- Finished items are the truth; deltas are for the eye.
function M.event(ev, st)
  local e = p.decode(ev.data)
  if type(e) ~= "table" then return nil end
  local t = e.type
  if t == "response.output_text.delta" or t == "response.refusal.delta" then return { text = e.delta } end
  if t == "response.reasoning_summary_text.delta" or t == "response.reasoning_text.delta" then
    return { thinking = e.delta }
  elseif t == "response.output_item.added" then
    return e.item and e.item.type == "function_call" and { effect = true } or nil
  elseif t == "response.output_item.done" then
    st.items[#st.items + 1] = p.decode(ev.data, true).item
  elseif t == "response.completed" or t == "response.incomplete" or t == "response.failed" then
    st.ended, st.response = t, e.response or {}
  elseif t == "error" or e.error then
    local err = type(e.error) == "table" and e.error or e
    local final = { insufficient_quota = 400, invalid_prompt = 400, context_length_exceeded = 400 }
    st.wrong = { msg = err.message or "an error in the stream", status = final[err.code] or 500,
      compact = err.code == "context_length_exceeded" or nil }
  end
end

function M.whole(text, st)
  local r = p.decode(text)
  if type(r) ~= "table" or type(r.output) ~= "table" then return end
  st.items, st.response = p.decode(text, true).output, r
  st.ended = r.status == "incomplete" and "response.incomplete" or r.status == "failed" and "response.failed"
    or "response.completed"
end

local function of_message(item, text)
  local refused = false
  for _, c in ipairs(item.content or {}) do
    if c.type == "output_text" then text[#text + 1] = c.text end
    if c.type == "refusal" then
      text[#text + 1], refused = c.refusal, true
    end
  end
  return refused
end

local function usage_of(u)
  u = type(u) == "table" and u or {}
  local inside = type(u.input_tokens_details) == "table" and u.input_tokens_details or {}
  return { ["in"] = u.input_tokens or 0, out = u.output_tokens or 0, cached = tonumber(inside.cached_tokens) or 0,
    written = tonumber(inside.cache_write_tokens) or 0, unknown = next(u) == nil or nil }
end

-- "priority", "flex", "batch": with other prices.
local function tier_of(usage, tier)
  if type(tier) == "string" and tier ~= "default" and tier ~= "auto" and tier ~= "standard" then usage.tier = tier end
  return usage
end

function M.finish(st)
  if st.wrong then return nil, st.wrong end
  if not st.ended then return nil, { msg = "the answer was cut off", status = 0, cut = true } end
  local r = st.response
  if st.ended == "response.failed" then
    local err = type(r.error) == "table" and r.error or {}
    local again = { server_error = 500, rate_limit_exceeded = 429 }
    return nil, { msg = err.message or "the answer failed", status = again[err.code] or 400 }
  end
  local calls, text, refused = p.list {}, {}, false
  local items = #st.items > 0 and st.items or (type(r.output) == "table" and r.output or {})
  for _, item in ipairs(items) do
    if item.type == "message" then
      refused = of_message(item, text) or refused
    elseif item.type == "function_call" then
      calls[#calls + 1] = p.call(item.call_id, item.name, item.arguments)
    end
  end
  local why = type(r.incomplete_details) == "table" and r.incomplete_details.reason or nil
  local cut = st.ended == "response.incomplete"
  local again = cut and why ~= "content_filter" and #calls > 0 and not st.retry and "longer" or nil
  if cut then calls = p.list {} end   -- what is not called, or not whole, may not go back
  return {
    text = table.concat(text), calls = calls, again = again, dialect = "openai", raw = not cut and p.encode(p.list(items)) or nil,
    id = r.id,
    stop = #calls > 0 and "calls" or cut and (why == "content_filter" and "refused" or "length")
      or refused and "refused" or "end",
    usage = tier_of(usage_of(r.usage), r.service_tier),
  }
end

return M

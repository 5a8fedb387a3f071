-- Anthropic Messages: POST /v1/messages, streamed. Versions 2026-10-21 and 2023-06-01 (for compatible servers).
-- Blocks of an answer go back as they came: thinking blocks are signed over their text.
local p = require "sandglass.plugin"

local M = {
  name = "anthropic", kind = "model", dialect = "anthropic",
  url = "https://api.anthropic.com", hosts = p.list { "api.anthropic.com" },
  env = { key = "ANTHROPIC_API_KEY", url = "ANTHROPIC_BASE_URL" },
  auth = { header = "x-api-key: {key}" },
  default = "claude-sonnet-5",
  models = {},
  aliases = {
    sonnet = "claude-sonnet-5", opus = "claude-opus-5-5", haiku = "claude-haiku-4-5", fable = "claude-fable-5-1",
  },
}

local function model(name, window, out) M.models[name] = { window = window, out = out } end
model("claude-fable-5-1", 1000000, 128000)
model("claude-opus-5-5", 1000000, 64000)
model("claude-opus-5", 1000000, 64000)
model("claude-opus-4-8", 200000, 64000)
model("claude-sonnet-5-5", 1000000, 64000)
model("claude-sonnet-5", 1000000, 64000)
model("claude-sonnet-4-6", 200000, 64000)
model("claude-haiku-4-5", 200000, 64000)

local function text_block(s) return { type = "text", text = p.clean(s) } end

local function assistant(m)
  if m.raw and m.dialect == "anthropic" then return m.raw end
  local blocks = p.list {}
  if m.text and m.text ~= "" then blocks[1] = text_block(m.text) end
  for _, c in ipairs(m.calls or {}) do
    blocks[#blocks + 1] = { type = "tool_use", id = c.id, name = c.name, input = c.args or {} }
  end
  if #blocks == 0 then return nil end
  return p.encode(blocks)
end

local function takes(mime) return p.images[mime] or mime == "application/pdf" end

local function media_block(item)
  return { type = p.images[item.mime] and "image" or "document",
    source = { type = "base64", media_type = item.mime, data = item.data } }
end

local function tool_result(m, options)
  local media, text = p.media(m, options, takes)
  local b = { type = "tool_result", tool_use_id = m.call, content = text }
  if #media > 0 then
    b.content = p.list { text ~= "" and text_block(text) or nil }
    for _, item in ipairs(media) do b.content[#b.content + 1] = media_block(item) end
  end
  if m.error then b.is_error = true end
  if b.content == "" then b.content = nil end
  return b
end

-- The results of one turn are one user message, before any text.
local function conversation(messages, options)
  local system, out, open = {}, {}, nil
  local function flush()
    if open and #open > 0 then out[#out + 1] = p.object { { "role", '"user"' }, { "content", p.encode(open) } } end
    open = nil
  end
  for _, m in ipairs(messages) do
    if m.role == "system" then
      system[#system + 1] = m.text
    elseif m.role == "assistant" then
      flush()
      local content = assistant(m)
      if content then out[#out + 1] = p.object { { "role", '"assistant"' }, { "content", content } } end
    else
      open = open or p.list {}
      if m.role == "tool" then
        open[#open + 1] = tool_result(m, options)
      elseif m.text and m.text ~= "" then
        open[#open + 1] = text_block(m.text)
      end
    end
  end
  flush()
  return table.concat(system, "\n\n"), out
end

local function tool_list(tools)
  local list = p.list {}
  for i, t in ipairs(tools) do
    list[i] = { name = t.name, description = t.about, input_schema = p.schema(t.schema) }
  end
  return list
end

function M.request(req, st)
  local o = req.options or {}
  local old = (req.version or "2026-10-21") == "2023-06-01"
  local system, messages = conversation(req.messages, o)
  local known = M.models[req.model] or {}
  local max = o.max_tokens or math.min(known.out or 16384, 32000)
  if st.retry == "longer" then max = max * 2 end
  local thinking = o.thinking
  if thinking == "adaptive" or thinking == true then thinking = { type = "adaptive" } end
  local cached = not old and o.cache ~= false
  local body = p.body({
    { "model", p.encode(req.model) }, { "max_tokens", p.encode(max) }, { "stream", "true" },
    { "cache_control", cached and '{"type":"ephemeral"}' or nil },
    { "system", system ~= "" and p.encode(p.list { text_block(system) }) or nil },
    { "tools", #req.tools > 0 and p.encode(tool_list(req.tools)) or nil },
    { "tool_choice", #req.tools > 0 and o.tool_choice and p.encode(o.tool_choice) or nil },
    { "thinking", type(thinking) == "table" and p.encode(thinking) or nil },
    { "output_config", o.effort and p.encode { effort = o.effort } or nil },
    { "temperature", old and o.temperature and p.encode(o.temperature) or nil },
  }, "messages", messages)
  st.blocks, st.usage, st.stop, st.ended = {}, {}, nil, false
  return {
    path = "/v1/messages", body = body,
    headers = { ["anthropic-version"] = req.version or "2026-10-21", ["anthropic-beta"] = o.beta },
  }
end

local function take_usage(st, u)
  for k, v in pairs(u or {}) do if type(v) == "number" then st.usage[k] = v end end   -- totals, not differences
  if type(u) ~= "table" then return end
  local made = type(u.cache_creation) == "table" and u.cache_creation or {}
  st.usage.hour = tonumber(made.ephemeral_1h_input_tokens) or st.usage.hour
  if type(u.service_tier) == "string" then st.tier = u.service_tier end
  if type(u.inference_geo) == "string" then st.geo = u.inference_geo end
end

local on = {}

function on.message_start(e, st)
  take_usage(st, e.message and e.message.usage)
  st.id = e.message and e.message.id
end

function on.content_block_start(e, st, data)
  local b = e.content_block or {}
  st.blocks[#st.blocks + 1] = {
    index = e.index, block = p.decode(data, true).content_block, text = { b.text or b.thinking }, json = {},
  }
  if b.type == "tool_use" then return { effect = true } end
  if b.type == "text" and b.text ~= "" then return { text = b.text } end
end

local function block_at(st, index)
  for i = #st.blocks, 1, -1 do if st.blocks[i].index == index then return st.blocks[i] end end
end

function on.content_block_delta(e, st)
  local at, d = block_at(st, e.index), e.delta or {}
  if not at then return end
  if d.type == "text_delta" then
    at.text[#at.text + 1] = d.text
    return { text = d.text }
  elseif d.type == "thinking_delta" then
    at.text[#at.text + 1] = d.thinking
    return { thinking = d.thinking }
  elseif d.type == "input_json_delta" then
    at.json[#at.json + 1] = d.partial_json
  elseif d.type == "signature_delta" then
    at.block.signature = d.signature
  elseif d.type == "compaction_delta" then
    at.block.content, at.block.encrypted_content = d.content, d.encrypted_content
  elseif d.type == "citations_delta" then
    if at.block.citations == nil or at.block.citations == p.null then at.block.citations = p.list {} end
    at.block.citations[#at.block.citations + 1] = d.citation
  end
end

function on.message_delta(e, st)
  local d = e.delta or {}
  st.stop = d.stop_reason or st.stop
  st.details = d.stop_details or st.details
  take_usage(st, e.usage)
end

function on.message_stop(_, st) st.ended = true end

function on.error(e, st)
  local err = e.error or {}
  local status = { overloaded_error = 529, rate_limit_error = 429, api_error = 500, timeout_error = 504 }
  st.wrong = { msg = err.message or err.type or "an error in the stream", status = status[err.type] or 400 }
end

-- By data.type, not by the name of the event: some relays leave the names away.
function M.event(ev, st)
  local e = p.decode(ev.data)
  if type(e) ~= "table" then return nil end
  if e.type == nil and e.error then return on.error(e, st) end
  local fn = on[e.type]
  return fn and fn(e, st, ev.data) or nil
end

function M.whole(text, st)
  local m, kept = p.decode(text), p.decode(text, true)
  if type(m) ~= "table" or type(m.content) ~= "table" then return end
  take_usage(st, m.usage)
  st.stop, st.ended = m.stop_reason, true
  for i, b in ipairs(m.content) do
    st.blocks[i] = { index = i - 1, block = kept.content[i], text = { b.text or b.thinking }, json = {} }
  end
end

local STOP = {
  end_turn = "end", stop_sequence = "end", max_tokens = "length", tool_use = "calls", pause_turn = "pause",
  refusal = "refused", model_context_window_exceeded = "window",
}

local function finish_block(at, calls, text)
  local b = at.block
  if b.type == "text" then
    b.text = table.concat(at.text)
    if b.text == "" then return nil end   -- the API refuses it when it comes back
    text[#text + 1] = b.text
  elseif b.type == "thinking" then
    b.thinking = table.concat(at.text)
  elseif b.type == "tool_use" then
    local json = table.concat(at.json)
    local c = p.call(b.id, b.name, json ~= "" and json or b.input)
    calls[#calls + 1] = c
    b.input = c.args or {}
  elseif #at.json > 0 then   -- tools that run at the provider
    local input = p.decode(table.concat(at.json))
    if input ~= nil then b.input = input end
  end
  return b
end

function M.finish(st)
  if st.wrong then return nil, st.wrong end
  if not st.ended then return nil, { msg = "the answer was cut off", status = 0, cut = true } end
  local calls, text, blocks, u = p.list {}, {}, p.list {}, st.usage
  for _, at in ipairs(st.blocks) do blocks[#blocks + 1] = finish_block(at, calls, text) end
  local stop = STOP[st.stop] or "end"
  local again = stop == "length" and #calls > 0 and not st.retry and "longer" or nil
  local cut = stop == "length" and #calls > 0
  if cut then calls = p.list {} end   -- the last call is cut in the middle; calls that don't run must not be sent back
  local read, write = u.cache_read_input_tokens or 0, u.cache_creation_input_tokens or 0
  return {
    text = table.concat(text), calls = calls, stop = #calls > 0 and "calls" or stop, again = again,
    dialect = "anthropic", raw = not cut and p.encode(blocks) or nil, id = st.id,
    why = st.details and st.details ~= p.null and st.details.explanation or nil,
    usage = {
      ["in"] = (u.input_tokens or 0) + read + write, out = u.output_tokens or 0, cached = read, written = write,
      written_1h = (u.hour or 0) > 0 and u.hour or nil, tier = st.tier ~= "standard" and st.tier or nil,
      geo = st.geo == "us" and st.geo or nil,
    },
  }
end

function M.wrong(_, text)
  local msg, body = p.error_text(text)
  local err = type(body) == "table" and body.error
  return { msg = msg, compact = p.is_too_long(msg), kind = type(err) == "table" and err.type or nil }
end

return M

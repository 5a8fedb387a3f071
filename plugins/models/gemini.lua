-- Gemini generateContent, streamed: every event is a whole response, and the end of the stream is the last word.
-- Parts of an answer go back as they came: thoughtSignature belongs to the part that it came with.
local p = require "sandglass.plugin"

local M = {
  name = "gemini", kind = "model", dialect = "gemini",
  url = "https://generativelanguage.googleapis.com/v1beta", hosts = p.list { "generativelanguage.googleapis.com" },
  env = { key = "GEMINI_API_KEY", url = "GEMINI_BASE_URL" },
  auth = { header = "x-goog-api-key: {key}" },
  models = {},
}

local function assistant(m)
  if m.raw and m.dialect == "gemini" then return m.raw end
  local parts = p.list {}
  if m.text and m.text ~= "" then parts[1] = { text = p.clean(m.text) } end
  for _, c in ipairs(m.calls or {}) do parts[#parts + 1] = { functionCall = { name = c.name, args = c.args or {} } } end
  if #parts == 0 then return nil end
  return p.encode(parts)
end

local NESTED = { ["image/png"] = true, ["image/jpeg"] = true, ["image/webp"] = true, ["application/pdf"] = true }
local BESIDE = { ["image/heic"] = true, ["image/heif"] = true, ["audio/wav"] = true, ["audio/mp3"] = true, ["audio/mpeg"] = true,
  ["audio/aiff"] = true, ["audio/aac"] = true, ["audio/ogg"] = true, ["audio/flac"] = true }

local function takes(mime) return NESTED[mime] or BESIDE[mime] end

-- Models since Gemini 3 take images inside a function's response; those before want them beside it.
local function put_result(open, m, req)
  local id = m.call and not m.call:find "^call_%d+$" and m.call or nil
  local media, text = p.media(m, req.options, takes)
  local response = { id = id, name = m.name or "?", response = { [m.error and "error" or "output"] = text } }
  local nests = (tonumber(req.model:match "^gemini%-(%d+)") or 0) >= 3
  open[#open + 1] = { functionResponse = response }
  for _, item in ipairs(media) do
    local part = { inlineData = { mimeType = item.mime, data = item.data } }
    if nests and NESTED[item.mime] then
      response.parts = response.parts or p.list {}
      response.parts[#response.parts + 1] = part
    else
      open.beside = open.beside or {}
      table.insert(open.beside, part)
    end
  end
end

local function conversation(req)
  local system, out, open = {}, {}, nil
  local function flush()
    for _, part in ipairs(open and open.beside or {}) do open[#open + 1] = part end
    if open then
      open.beside = nil
      out[#out + 1] = p.object { { "role", '"user"' }, { "parts", p.encode(open) } }
    end
    open = nil
  end
  for _, m in ipairs(req.messages) do
    if m.role == "system" then
      system[#system + 1] = p.clean(m.text)
    elseif m.role == "assistant" then
      flush()
      local parts = assistant(m)
      if parts then out[#out + 1] = p.object { { "role", '"model"' }, { "parts", parts } } end
    else
      open = open or p.list {}
      if m.role == "tool" then
        put_result(open, m, req)
      else
        open[#open + 1] = { text = p.clean(m.text) }
      end
    end
  end
  flush()
  return table.concat(system, "\n\n"), out
end

function M.request(req, st)
  local o = req.options or {}
  local system, contents = conversation(req)
  local functions, config = p.list {}, {}
  for i, t in ipairs(req.tools) do
    functions[i] = { name = t.name, description = t.about, parametersJsonSchema = p.schema(t.schema) }
  end
  config.maxOutputTokens = o.max_tokens and (st.retry == "longer" and o.max_tokens * 2 or o.max_tokens)
  config.temperature, config.seed = o.temperature, o.seed
  if type(o.thinking) == "table" then config.thinkingConfig = o.thinking end
  local body = p.body({
    { "systemInstruction", system ~= "" and p.encode { parts = p.list { { text = system } } } or nil },
    { "tools", #functions > 0 and p.encode(p.list { { functionDeclarations = functions } }) or nil },
    { "generationConfig", next(config) and p.encode(config) or nil },
  }, "contents", contents)
  st.parts, st.usage = p.list {}, {}
  return { path = "/models/" .. req.model .. ":streamGenerateContent?alt=sse", body = body, headers = {} }
end

-- Text that follows text without a signature belongs to the same part.
local function keep_part(st, part)
  local last = st.parts[#st.parts]
  if part.text and last and last.text and last.thought == part.thought and not last.thoughtSignature
    and not part.thoughtSignature then
    last.text = last.text .. part.text
  else
    st.parts[#st.parts + 1] = part
  end
end

function M.event(ev, st)
  local e = p.decode(ev.data)
  if type(e) ~= "table" then return nil end
  if e.error then
    st.wrong = { msg = e.error.message or "an error in the stream", status = e.error.code or 500 }
    return nil
  end
  if type(e.usageMetadata) == "table" then st.usage = e.usageMetadata end
  if type(e.promptFeedback) == "table" and e.promptFeedback.blockReason then st.stop = "PROHIBITED_CONTENT" end
  st.id = e.responseId or st.id
  local c = type(e.candidates) == "table" and e.candidates[1]
  if not c then return nil end
  local text, thinking, effect = {}, {}, nil
  for _, part in ipairs(type(c.content) == "table" and c.content.parts or {}) do
    keep_part(st, part)
    if part.functionCall then effect = true end
    local to = part.thought and thinking or text
    to[#to + 1] = part.text
  end
  st.stop = c.finishReason or st.stop
  return { text = table.concat(text), thinking = table.concat(thinking), effect = effect }
end

function M.whole(text, st)
  local list = p.decode(text)
  if type(list) ~= "table" then return end
  for _, e in ipairs(list[1] and list or { list }) do M.event({ data = p.encode(e) }, st) end
end

local STOP = { STOP = "end", MAX_TOKENS = "length", SAFETY = "refused", RECITATION = "refused", BLOCKLIST = "refused",
  PROHIBITED_CONTENT = "refused", SPII = "refused", FUNCTION_CALL = "end" }

-- Tokens of images among those of an answer or a prompt; nil: none.
local function images(details)
  local n = 0
  for _, d in ipairs(type(details) == "table" and details or {}) do
    if d.modality == "IMAGE" then n = n + (tonumber(d.tokenCount) or 0) end
  end
  return n > 0 and n or nil
end

function M.finish(st)
  if st.wrong then return nil, st.wrong end
  if not st.stop then return nil, { msg = "the answer was cut off", status = 0, cut = true } end
  if st.stop == "MALFORMED_FUNCTION_CALL" then
    return nil, { msg = "the model wrote an invalid call", status = 500 }
  end
  local calls, text, u = p.list {}, {}, st.usage
  for _, part in ipairs(st.parts) do
    local f = part.functionCall
    if f then
      calls[#calls + 1] = p.call(f.id or ("call_%d"):format(#calls + 1), f.name, f.args)
    elseif part.text and not part.thought then
      text[#text + 1] = part.text
    end
  end
  local stop = STOP[st.stop] or "end"
  local again = stop == "length" and #calls > 0 and not st.retry and "longer" or nil
  local cut = stop == "length" and #calls > 0
  if cut then calls = p.list {} end   -- the last call is cut in the middle; calls that don't run must not be sent back
  return {
    again = again, text = table.concat(text), calls = calls, stop = #calls > 0 and "calls" or stop, dialect = "gemini",
    raw = not cut and p.encode(st.parts) or nil, id = st.id,
    usage = { ["in"] = u.promptTokenCount or 0, out = (u.candidatesTokenCount or 0) + (u.thoughtsTokenCount or 0),
      cached = u.cachedContentTokenCount or 0, written = 0, image_in = images(u.promptTokensDetails),
      image_out = images(u.candidatesTokensDetails), unknown = next(u) == nil or nil },
  }
end

return M

-- Messages of Protocol Buffers (sandglass.protobuf), and what becomes of a call of gRPC.
local protobuf = require "sandglass.protobuf"
local grpc = require "sandglass.grpc"
local sandbox = require "sandglass.plugin_sandbox"
local spec = require "spec"
local it, eq = spec.it, spec.eq

local types = protobuf [[
  message Box { string name = 1; uint64 size = 2; repeated Tag tags = 3; float wait = 4; double at = 5; bool on = 16; }
  message Tag { string key = 1; string value = 2; }
  message Later { string name = 1; bytes other = 9; repeated Tag more = 10; }
  message Status { int32 code = 1; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message Policy { float retry_after_secs = 1; }
  message GetRequest { string id = 1; }
  message GetResponse { string name = 1; }
]]
local BOX = { name = "a\0\xff", size = 300, tags = { { key = "k", value = "" }, { key = "l" } }, wait = 1.5, at = -2.25, on = true }

it "bytes as others write them" (function()
  eq(types.encode("Tag", { key = "k", value = "vw" }), "\10\1k\18\2vw")
  eq(types.encode("Box", { size = 300 }), "\16\xac\2")
  eq(types.encode("Box", { size = -1 }), "\16" .. ("\xff"):rep(9) .. "\1")
  eq(types.encode("Box", { on = true, wait = 1.5 }), "\37\0\0\xc0\63\128\1\1")
  eq(types.encode("Box", {}), "")
end)

it "types are words, whatever stands before them" (function()
  local close = protobuf "message Near {double at = 1;repeated float all = 2;read y=3; repeated\n  string z = 4; }"
  local n = close.decode("Near", close.encode("Near", { at = 0.5, all = { 1.5, 2.5 }, y = 7, z = { "a", "b" } }))
  eq({ n.at, n.all[1], n.all[2], n.y, n.z[1], n.z[2] }, { 0.5, 1.5, 2.5, 7, "a", "b" })
end)

it "an encoded message is decoded to the same values" (function()
  local b = types.decode("Box", types.encode("Box", BOX))
  eq({ b.name, b.size, b.wait, b.at, b.on }, { "a\0\xff", 300, 1.5, -2.25, 1 })
  eq({ #b.tags, b.tags[1].key, b.tags[1].value, b.tags[2].value }, { 2, "k", "" })
  eq(types.decode("Box", types.encode("Box", { size = -1 })).size, -1)
  eq(types.decode("Box", "").size, nil)
end)

it "fields that are not known, or of another kind, are passed over" (function()
  local b = types.decode("Box", types.encode("Later", { name = "n", other = "x", more = { { key = "k" } } }) .. "\18\3abc")
  eq({ b.name, b.size }, { "n" })
end)

it "a broken message is an error, at each place and for each byte" (function()
  local good = types.encode("Box", BOX)
  for cut = 1, #good - 1 do
    local b, why = types.decode("Box", good:sub(1, cut))
    if not b then eq(type(why), "string") end
  end
  local broken = 0
  for at = 1, #good do
    for _, byte in ipairs { 0, 1, 0x7f, 0x80, 0xff } do
      if not types.decode("Box", good:sub(1, at - 1) .. string.char(byte) .. good:sub(at + 1)) then broken = broken + 1 end
    end
  end
  eq(broken > 10, true)
  eq(types.decode("Box", "\10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), nil)
  eq(types.decode("Box", ("\xff"):rep(20)), nil)
  eq(types.decode("Box", "\11\12"), nil)
end)

-- A host that gives the answers in order.
local function host_of(answers)
  local h = { slept = {}, fail = sandbox.fail, asked = 0 }
  function h.http(r)
    h.asked, h.request = h.asked + 1, r
    return answers[h.asked]
  end
  function h.sleep(s) h.slept[#h.slept + 1] = s end
  return h
end
local function refusal(status, text, more)
  local headers = { ["content-type"] = "application/grpc", ["grpc-status"] = status, ["grpc-message"] = text }
  for k, v in pairs(more or {}) do headers[k] = v end
  return { status = 200, headers = headers, body = "" }
end
local FINE = { status = 200, headers = { ["content-type"] = "application/grpc" }, trailers = { ["grpc-status"] = "0" },
  body = sandbox.envelope(0, types.encode("GetResponse", { name = "n" })) }
local call = grpc.new { name = "there", key = "THERE_KEY", types = types }
local function get(h, r)
  r = r or {}
  r.service, r.method, r.message = "x.Y", "Get", { id = "1" }
  return call.unary(h, r)
end
local function wrong(h, r)
  local good, e = pcall(get, h, r)
  return not good and e.code .. ": " .. e.msg
end

it "a call" (function()
  local h = host_of { FINE }
  eq(get(h).name, "n")
  eq({ h.request.path, h.request.body, h.request.h2 }, { "/x.Y/Get", "\0\0\0\0\3\10\0011", true })
end)

it "too many: waited for as long as the other side asks" (function()
  local policy = types.encode("Status", { code = 8, details = { { value = types.encode("Policy", { retry_after_secs = 0.5 }),
    type_url = "type.googleapis.com/modal.client.RPCRetryPolicy" } } })
  local h = host_of { refusal("8", "busy", { ["grpc-status-details-bin"] = sandbox.base64_encode(policy) }), FINE }
  eq(get(h).name, "n")
  eq(h.slept, { 0.5 })
end)

it "in trouble: only what may be asked twice is asked twice" (function()
  eq(get(host_of { refusal "14", FINE }, { again = true }).name, "n")
  eq(wrong(host_of { refusal("14", "a%20b") }), "cut: there (Get): UNAVAILABLE: a b")
end)

it "patience has an end" (function()
  local answers = {}
  for i = 1, 9 do answers[i] = refusal("8", "more") end
  local h = host_of(answers)
  eq(wrong(h), "quota: there refuses more (RESOURCE_EXHAUSTED): more")
  eq(h.asked < 9, true)
end)

it "a refusal, a cut, and an answer outside gRPC each give one line" (function()
  eq(wrong(host_of { refusal("16", "who?") }), "denied: there refuses the key in THERE_KEY: who?; set one that is valid, or 'sandglass secret set THERE_KEY', and start again")
  eq(wrong(host_of { refusal("5", "no such") }), "bad: there (Get): NOT_FOUND: no such")
  eq(wrong(host_of { { status = 200, headers = { ["content-type"] = "text/html" }, body = "Hello" } }),
    "bad: there (Get): the answer is not from the API: Hello")
  eq(wrong(host_of { { status = 200, headers = FINE.headers, body = FINE.body } }), "bad: there (Get): cut: no status")
  local m, status, text = get(host_of { refusal("5", "no such") }, { accept = { [5] = true } })
  eq({ m == nil, status, text }, { true, 5, "no such" })
end)

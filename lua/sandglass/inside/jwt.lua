-- Placeholders in the form of a JWT, for programs that read their account out of their token. The proxy knows one by its last part.
local p = require "sandglass.text".sg.json
local to64 = require "sandglass.runtime".core.to64

local M = {}
local FAR = 4102444800   -- a token that expires then is never refreshed

local function base64url(s) return (to64(s):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" })) end

-- claims: more than those of the account (x.login).
function M.placeholder(x, claims)
  claims.exp, claims["https://api.openai.com/auth"] = FAR, {
    chatgpt_plan_type = x.login.plan, chatgpt_account_id = x.login.account_id, chatgpt_user_id = "user-sandglass",
  }
  return base64url(p.encode { alg = "none", typ = "JWT" }) .. "." .. base64url(p.encode(claims)) .. "." .. x.key
end

return M

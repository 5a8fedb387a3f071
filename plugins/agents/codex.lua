-- Codex. Its own sandbox is off: the box is the wall.
return {
  name = "codex", about = "Codex (npm @openai/codex)", program = "codex", versions = "0.169.0",
  install = "npm install @openai/codex", speak = "openai", provider = "openai", model = "gpt-5",
  argv = function(x)
    return { x.program, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", x.task }
  end,
  env = function(x) return { SANDGLASS_PLACEHOLDER = x.key } end,
  files = function(x)
    return {
      [".codex/config.toml"] = ([[
model = %q
model_provider = "sandglass"
check_for_update_on_startup = false
[model_providers.sandglass]
name = "sandglass"
base_url = "%s/v1"
env_key = "SANDGLASS_PLACEHOLDER"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
]]):format(x.model, x.url),
    }
  end,
  line = function(ev)
    local item = ev.item
    if ev.type == "item.completed" and item and item.type == "agent_message" then return item.text, item.text end
    if ev.type == "turn.failed" then return nil, nil, ev.error and ev.error.message or "the turn failed" end
  end,
}

-- Any program: the task is its last word, models are where the variables say.
return {
  name = "custom", about = "a program of your own: sg.inside { agent = \"custom\", command = { ... } }", program = "sh", versions = "",
  install = "name it with command = { \"program\", ... }", speak = "anthropic", provider = "anthropic", model = "sonnet",
  argv = function(x)
    local argv = {}
    for i, w in ipairs(x.command or { x.program }) do argv[i] = w end
    argv[#argv + 1] = x.task
    return argv
  end,
  -- any program: nothing is known of its models, so it gets no way to one
  terminal = { plain = true, argv = function(x)
    local argv = {}
    for i, w in ipairs(x.command or { x.program }) do argv[i] = w end
    return argv
  end },
  control = {
    acp = { argv = function(x) return x.command or { x.program } end },
    -- without a command: it listens in the box already (port, token)
    ["sandbox-agent"] = { argv = function(x) return x.command or { "sleep", "infinity" } end, serves = "claude" },
  },
  env = function(x)
    return {
      ANTHROPIC_BASE_URL = x.url, ANTHROPIC_API_KEY = x.key, OPENAI_BASE_URL = x.url .. "/v1", OPENAI_API_KEY = x.key,
      GOOGLE_GEMINI_BASE_URL = x.url, GEMINI_API_KEY = x.key, MODEL = x.model,
    }
  end,
}

# Counts by jq alone, that know nothing of us: turns, calls, tokens in and out of what agents write. Sourced.
declare -A count=(
	[claude]='[.[] | select(.type == "assistant") | .message] | [(group_by(.id) | length), ([.[].content[] | select(.type == "tool_use")] | length),
		(group_by(.id) | map(last.usage | .input_tokens + .cache_read_input_tokens + .cache_creation_input_tokens) | add),
		(group_by(.id) | map(last.usage.output_tokens) | add)]'
	[codex]='[.[] | select(.payload.type == "token_count" and .payload.info) | .payload.info] as $spent |
		[($spent | length), ([.[] | select(.type == "response_item" and (.payload.type | test("_call$")))] | length),
		($spent | last.total_token_usage.input_tokens), ($spent | last.total_token_usage.output_tokens)]'
	[codex-exec]='[.[] | select(.type == "turn.completed") | .usage] as $spent |
		[($spent | length), ([.[] | select(.type == "item.completed" and .item.type == "command_execution")] | length),
		([$spent[].input_tokens] | add), ([$spent[].output_tokens] | add)]'
	[inspect-2024]='[.[].samples[]] | ([.[].events[] | select(.event == "model")] | length) as $turns |
		[$turns, ([.[].messages[].tool_calls[]?] | length), ([.[].model_usage[].input_tokens] | add), ([.[].model_usage[].output_tokens] | add)]'
	[swe-agent]='.[] | [(.trajectory | length), ([.trajectory[] | select(.action != "")] | length), .info.model_stats.tokens_sent, .info.model_stats.tokens_received]'
)
count[inspect-2025]=${count[inspect-2024]}

/* The topics of 'sandglass help' beside commands. */
#include <string.h>

#include "cli/help.h"
#include "luahost/library.h"
#include "query/filter.h"

static const char help_topics_filter[] =
	"The filter language, the same in lists, search, events --filter, breakpoints, and policies.\n"
	"\n"
	"  word                   the event or its output contains the word; begin* for a prefix, \"a phrase\"\n"
	"  field:value            equal; * and ? make a pattern; a,b,c is any of them; 2..4 is a range\n"
	"  field=value            exactly equal; field!=value: anything else\n"
	"  field~\"expression\"     extended regular expression; \\b \\d \\w \\s work\n"
	"  field<value            numbers with units, also <= > >=: ms s m h d, k M, $\n"
	"  a b, a and b           both; a or b: one of them; not a, !a: without; ( ) group\n"
	"  @name                  a saved filter; ':filter save NAME' in the console saves one\n"
	"\n";

static const char filter_examples[] =
	"A breakpoint can use only fields that are known before an action. Words with a hyphen need no\n"
	"quotes: rm -rf searches for both.\n"
	"\n"
	"  $ sandglass events --filter 'kind:exec is:error since:1h'\n"
	"  $ sandglass search 'agent:fix cmd~\"\\bcurl\\b\"'\n"
	"  $ sandglass search '\"permission denied\" and not tool:browser'\n"
	"  $ sandglass search '(kind:model cost>$0.10) or (kind:exec dur>30s)'\n"
	"  $ sandglass hold 'kind:write path:src/*.c'\n";

static const char help_topics_ids[] =
	"Names of sessions and events.\n"
	"\n"
	"  s-7k2m9q       a session: its id, the unique beginning of one (s-7k, 7k), its name, or its file\n"
	"  #405, 405      an event or action of the running session, else of the newest\n"
	"  s-7k2m9q#405   the same in that session\n"
	"  b1             a sandbox, by its name; an agent likewise\n"
	"\n"
	"If a name matches several things, sandglass lists them and does nothing (exit status 2).\n"
	"\n"
	"  $ sandglass show s-7k#405\n";

static const char exit_statuses[] =
	"Exit statuses.\n"
	"\n"
	"  0          success\n"
	"  1          ended without success: a task, a check, verify, compare; or a file error\n"
	"  2          usage error\n"
	"  3          script or configuration error; file and line are printed\n"
	"  4          denied by a rule or a reviewer, and the script gave up\n"
	"  5          budget or time used up\n"
	"  6          sandbox failed or not available ('doctor' names the cause)\n"
	"  7          model provider failed after retries\n"
	"  8          approval required, but --no-input was given\n"
	"  9          the recording is damaged\n"
	"  10         simulate found a difference\n"
	"  130, 143   interrupted, terminated; 'run' stops its agents, attach and watch only leave\n"
	"\n"
	"  $ sandglass verify s-7k2m9q || echo \"status $?\"\n";

static const char help_topics_files[] =
	"Files. 'doctor --paths' lists the existing ones.\n"
	"\n"
	"  $XDG_CONFIG_HOME/sandglass/    config.lua, policy.lua, mcp.json, themes/ (default: ~/.config)\n"
	"  /etc/sandglass/policy.lua      rules of this host; users can't weaken them\n"
	"  /etc/xdg/sandglass/            config.lua and themes/ of this host\n"
	"  $XDG_DATA_HOME/sandglass/      sessions/ (SANDGLASS_SESSIONS), plugins/ (default: ~/.local/share)\n"
	"  $XDG_STATE_HOME/sandglass/     history, trust, bookmarks, filters, files of open sandboxes, anchor\n"
	"                                 log (default: ~/.local/state)\n"
	"  $XDG_RUNTIME_DIR/sandglass/    one control socket per running session\n"
	"  .sandglass/                    of a project, after 'trust': config.lua, policy.lua, skills/\n"
	"  .sandglass/added.lua           rules that reviewers added from pending actions\n"
	"\n"
	"  $ sandglass doctor --paths\n";

static const char help_topics_variables[] =
	"Environment variables. 'config' lists each setting, its value, and its source. Order: option,\n"
	"variable, project, user, system, built-in.\n"
	"\n"
	"  SANDGLASS_SESSIONS   directory of session files\n"
	"  SANDGLASS_CONFIG     your configuration file\n"
	"  SANDGLASS_MODEL      provider:name, if the script names no model\n"
	"  SANDGLASS_BACKEND    the sandbox backend\n"
	"  SANDGLASS_SEARCH     address of the search service of web_search\n"
	"  SANDGLASS_USER       your name in decisions\n"
	"  SANDGLASS_A11Y       1: lines instead of the full screen\n"
	"  SANDGLASS_ASCII      1: draw with ASCII only\n"
	"  SANDGLASS_SYNC       0: no synchronized screen updates\n"
	"  SANDGLASS_LOG        log level of the program: debug, info, warn, error\n"
	"  NO_COLOR             not empty: no colors; CLICOLOR_FORCE: colors also to a pipe\n"
	"  PAGER, GIT_PAGER     for long output, and for 'diff'\n"
	"  VISUAL, EDITOR       for 'approve --edit' and the console\n"
	"  HTTPS_PROXY          proxy for models and pages; also ALL_PROXY and NO_PROXY\n"
	"  SANDGLASS_CHATGPT_URL  a gateway that stands for https://chatgpt.com in Codex logins\n"
	"  SSL_CERT_FILE        trusted authorities; also CURL_CA_BUNDLE\n"
	"  DOCKER_HOST          the container engine; also CONTAINER_HOST\n"
	"  TMPDIR, TZ           temporary directory; time zone of displayed times\n"
	"\n"
	"Provider keys have their own variables (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, ...). No\n"
	"sandbox and no script sees them.\n"
	"\n"
	"  $ sandglass config model\n";

static const char help_topics_rules[] =
	"Policy files. A policy file is Lua that returns rules: allow, ask, or deny, each with a name.\n"
	"\n"
	"All fields of a rule must match. In a list, one item is enough; an item that starts with ! excludes.\n"
	"The strictest verdict of all files wins (deny, then ask, then allow); order doesn't matter. If no\n"
	"rule matches, the strictest 'default' of the files decides:\n"
	"\n"
	"  boxed              allow what stays in the sandbox; connections, host tools, pages, put, get,\n"
	"                     merge, and all else that leaves it require approval\n"
	"  careful            everything but reads requires approval\n"
	"  allow, ask, deny   all actions\n"
	"\n"
	"If no file has a default, the isolation decides: boxed; careful for a sandbox without namespaces;\n"
	"everything requires approval in a sandbox without isolation.\n"
	"\n"
	"Patterns:\n"
	"\n"
	"  cmd    word by word over each simple command of a line, also behind && | ; $( ) sh -c env sudo\n"
	"         xargs. * matches within a word, a final * any further words, ... any words between. An\n"
	"         allow covers only the commands that it matches. If a command can't be parsed, it requires\n"
	"         approval where a rule could apply.\n"
	"  path   * and ? within a name, ** any directories; without a leading /, ~, or **, it is relative to\n"
	"         /workspace\n"
	"  host   a leading *. matches any labels; * matches within a label; :PORT if it matters\n"
	"  url    * matches over the whole address of a page\n"
	"\n"
	"These files are read: /etc/sandglass/policy.lua, $XDG_CONFIG_HOME/sandglass/policy.lua, --policy\n"
	"FILE, and, if trusted, .sandglass/policy.lua and .sandglass/added.lua of the current directory and\n"
	"of every repository that a sandbox opens, also of the directories above it up to its .git. Rules\n"
	"express intent; the sandbox enforces. 'sandglass help lua Rule' lists the fields. A session warns\n"
	"about an allow that may match more than you mean, such as 'sh *' or 'git*'; 'policy check' names\n"
	"all such rules.\n"
	"\n"
	"  $ sandglass policy check .sandglass/policy.lua\n"
	"  $ sandglass policy explain 'git push origin main'\n"
	"  $ sandglass policy past .sandglass/policy.lua\n";

static const char help_topics_plugins[] =
	"Plugins: sandbox backends and model providers, one Lua file each ('sandglass plugin').\n"
	"\n"
	"A plugin file returns a table. It runs in its own Lua process, without files, network, and keys.\n"
	"It returns requests; sandglass sends and records them. Name the plugin by its path\n"
	"(backend = \"./mine.lua\") or, once added, by its name.\n"
	"\n"
	"  $ sandglass plugin new sandbox mine   # writes a working example; also: new model mine\n"
	"  $ sandglass plugin test mine.lua\n"
	"  $ sandglass plugin add mine.lua\n"
	"\n";

static const char help_topics_keys[] =
	"The keys of the console. On each screen, ? lists all of its keys.\n"
	"\n"
	"  Enter     open the agent, action, or file       q Esc     back; leave at the top\n"
	"  j k g G   down, up, first, last                 Tab       next pane\n"
	"  a         open the oldest pending approval      A         queue of pending approvals\n"
	"  y n       approve once, deny with a message     s p       approve for the session, by a rule\n"
	"  e         edit and approve                      r m       dry run, then apply its result\n"
	"  p P       pause or continue one agent, all      .         run one action of a paused agent\n"
	"  c         continue to the breakpoint            !         freeze all sandboxes\n"
	"  M         message to the agent                  X         kill the agent or action\n"
	"  d T       diff, files at this event             B         blame; breakpoint like this row\n"
	"  o t v     output, transcript, details           s         your shell in the sandbox\n"
	"  L C H     log, verification, handoff summary    u         undo the last change\n"
	"  f /       filter the list, search the screen    m '       set a bookmark, go to one\n"
	"  y v       copy; select lines                    :         command line\n"
	"  Ctrl-p    palette of all commands               ?         help\n"
	"\n"
	"Replay: Space plays; . , step; { } go by turns; ]e ]d ]a ]m go to the next error, difference,\n"
	"approval, bookmark; 50% and 188G seek; F follows a running session.\n"
	"Agents in their own interface: Ctrl-\\ opens an overlay; d detaches, y and n decide.\n"
	"After a flood of output (1 MiB) the repainted screen is made from its last 256 KiB; the\n"
	"recording has all of it.\n"
	"The setting 'keys' changes keys ('sandglass config keys').\n";

static const char help_topics_console[] =
	"The console shows running sessions ('sandglass attach') and recorded ones ('sandglass\n"
	"replay'). Screens, by their name after ':' or --view:\n"
	"\n"
	"  fleet      all agents, with the pending approvals\n"
	"  agent      one agent: timeline, output, workspace\n"
	"  approval   a pending action: bytes, matched rules, effects, your choices\n"
	"  queue      all pending approvals\n"
	"  diff       the changes of a sandbox; review shows your choices per hunk\n"
	"  tree       a sandbox's files at the cursor\n"
	"  repeat     a recorded command and its repetition, side by side\n"
	"  compare    sessions, action by action\n"
	"  verify     the checks of the recording\n"
	"  handoff    a one-page summary for the next reviewer\n"
	"  sandboxes jobs holds bookmarks log plot table palette help\n"
	"\n"
	"Quitting the console stops nothing. 'help keys' lists the keys.\n";

static const struct {
	const char *name, *text;
} help_topics[] = {
	{ "keys", help_topics_keys },
	{ "console", help_topics_console },
	{ "filter", help_topics_filter },
	{ "rules", help_topics_rules },
	{ "ids", help_topics_ids },
	{ "plugins", help_topics_plugins },
	{ "exit", exit_statuses },
	{ "files", help_topics_files },
	{ "variables", help_topics_variables },
};

const char *help_topic_name(size_t i)
{
	return i < ARRAY_LEN(help_topics) ? help_topics[i].name : NULL;
}

/* The fields with their values, from the table that parses them. */
static void filter_fields(struct buf *out)
{
	buf_puts(out, "Fields; one (afterwards) is known only after the action:\n\n");
	for (size_t i = 0; filter_field_name(i); i++) {
		const char *const *value = filter_field_values(filter_field_name(i));
		buf_printf(out, "  %-9s %s%s", filter_field_name(i), filter_field_about(i),
			   filter_field_before(i) ? "" : " (afterwards)");
		for (size_t k = 0; value && value[k]; k++)
			buf_printf(out, "%s%s",
				   k == 0	? ": "
				   : k % 9 == 0 ? ",\n            "
						: ", ",
				   value[k]);
		buf_putc(out, '\n');
	}
}

/* A library file's description: its first comment, in its own layout. */
static void library_says(const char *path, struct buf *out)
{
	size_t len;
	const char *text = library_file(path, &len);
	for (const char *end = text ? text + len : NULL, *eol;
	     text && text < end && strncmp(text, "--", 2) == 0; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			break;
		text += text[2] == ' ' ? 3 : 2;
		buf_append(out, text, (size_t)(eol - text));
		buf_putc(out, '\n');
	}
}

bool help_topic(const char *name, struct buf *out)
{
	size_t i = 0;
	while (i < ARRAY_LEN(help_topics) && strcmp(help_topics[i].name, name) != 0)
		i++;
	if (i == ARRAY_LEN(help_topics))
		return false;
	buf_puts(out, help_topics[i].text);
	if (help_topics[i].text == help_topics_filter) {
		filter_fields(out);
		buf_puts(out, filter_examples);
	} else if (help_topics[i].text == help_topics_plugins) {
		library_says("sandglass/plugin_sandbox.lua", out);
		buf_putc(out, '\n');
		library_says("sandglass/plugin.lua", out);
	}
	return true;
}

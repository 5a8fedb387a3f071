/* The vendors' programs whose logins sandboxes may use: where each keeps its login, and what the
 * file holds. Another one is another row. Part of login. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "login/login.h"

enum { ACCOUNT_MAX = 4 << 20 };

/* A time in units of @unit_us as the vendor's file has it. 0: not a time. */
static int64_t login_time_us(const json_t *o, const char *key, int64_t unit_us)
{
	int64_t us;
	return __builtin_mul_overflow(json_int(o, key, 0), unit_us, &us) ? 0 : us;
}

/* --- Claude Code: ~/.claude/.credentials.json ------------------------------------------------- */

static const char *claude_token(const json_t *own, int64_t *expires_us)
{
	const json_t *oauth = json_object_get(own, "claudeAiOauth");
	*expires_us = login_time_us(oauth, "expiresAt", 1000);
	return json_str(oauth, "accessToken", "");
}

static void claude_describe(const json_t *own, json_t *login)
{
	const json_t *oauth = json_object_get(own, "claudeAiOauth");
	const char *home = getenv("HOME");
	CLEANUP(free_ptr) char *path = path_join(home ? home : "/", ".claude.json");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err none = ERR_INIT;
	json_put_str(login, "plan", json_str(oauth, "subscriptionType", NULL));
	json_put_str(login, "tier", json_str(oauth, "rateLimitTier", NULL));
	if (file_read(path, &text, ACCOUNT_MAX, &none) < 0)
		return;
	CLEANUP(json_release) json_t *settings = json_parse(text.data, text.len, path, &none);
	const json_t *account = json_object_get(settings, "oauthAccount");
	json_put_str(login, "account", json_str(account, "emailAddress", NULL));
	json_put_str(login, "organization", json_str(account, "organizationName", NULL));
}

/* --- Codex: ~/.codex/auth.json, tokens are JWTs ------------------------------------------------ */

/* The claims of a JWT, without a check of its signature. NULL: not a JWT. Returns owned. */
static json_t *jwt_claims(const char *jwt)
{
	const char *dot = strchr(jwt, '.'), *end = dot ? strchr(dot + 1, '.') : NULL;
	struct err none = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT, bytes = BUF_INIT;
	if (!end)
		return NULL;
	for (const char *p = dot + 1; p < end; p++)
		buf_putc(&text, *p == '-' ? '+' : *p == '_' ? '/' : *p);
	while (text.len % 4)
		buf_putc(&text, '=');
	if (!base64_parse(buf_cstr(&text), text.len, &bytes))
		return NULL;
	return json_parse(bytes.data, bytes.len, "token", &none);
}

static const char *codex_token(const json_t *own, int64_t *expires_us)
{
	const char *token = json_str(json_object_get(own, "tokens"), "access_token", "");
	CLEANUP(json_release) json_t *claims = jwt_claims(token);
	*expires_us = login_time_us(claims, "exp", 1000000);
	return token;
}

static void codex_describe(const json_t *own, json_t *login)
{
	const json_t *tokens = json_object_get(own, "tokens");
	CLEANUP(json_release) json_t *claims = jwt_claims(json_str(tokens, "id_token", ""));
	const json_t *auth = json_object_get(claims, "https://api.openai.com/auth");
	json_put_str(login, "plan", json_str(auth, "chatgpt_plan_type", NULL));
	json_put_str(login, "account", json_str(claims, "email", NULL));
	json_put_str(login, "account_id", json_str(tokens, "account_id", NULL));
}

/* --- Gemini CLI: ~/.gemini/oauth_creds.json --------------------------------------------------- */

static const char *gemini_token(const json_t *own, int64_t *expires_us)
{
	*expires_us = login_time_us(own, "expiry_date", 1000);
	return json_str(own, "access_token", "");
}

static void gemini_describe(const json_t *own, json_t *login)
{
	CLEANUP(json_release) json_t *claims = jwt_claims(json_str(own, "id_token", ""));
	json_put_str(login, "account", json_str(claims, "email", NULL));
}

/* --- OpenCode and pi: an entry for ChatGPT in a file of several logins -------------------------- */

static const char *chatgpt_token(const json_t *entry, int64_t *expires_us)
{
	*expires_us = login_time_us(entry, "expires", 1000);
	return json_str(entry, "access", "");
}

static void chatgpt_describe(const json_t *entry, json_t *login)
{
	json_put_str(login, "account_id", json_str(entry, "accountId", NULL));
}

/* ~/.local/share/opencode/auth.json; an entry of another type is an API key */
static const char *opencode_token(const json_t *own, int64_t *expires_us)
{
	const json_t *openai = json_object_get(own, "openai");
	const char *token = chatgpt_token(openai, expires_us);
	return strcmp(json_str(openai, "type", ""), "oauth") ? "" : token;
}

static void opencode_describe(const json_t *own, json_t *login)
{
	chatgpt_describe(json_object_get(own, "openai"), login);
}

/* ~/.pi/agent/auth.json */
static const char *pi_token(const json_t *own, int64_t *expires_us)
{
	return chatgpt_token(json_object_get(own, "openai-codex"), expires_us);
}

static void pi_describe(const json_t *own, json_t *login)
{
	chatgpt_describe(json_object_get(own, "openai-codex"), login);
}

/* Each asks its vendor for a new token without a call of a model. */
static const char *const claude_refresh[] = { "claude", "auth", "status", NULL };
static const char *const codex_refresh[] = { "codex", "doctor", NULL };

const struct login_kind login_kinds[] = {
	{ "claude", ".claude/.credentials.json", claude_refresh, "claude auth login", NULL,
	  "Anthropic offers this login for ordinary use of Claude Code by its subscriber. Only the unmodified program 'claude' gets it.",
	  claude_token, claude_describe },
	{ "codex", ".codex/auth.json", codex_refresh, "codex login", "SANDGLASS_CHATGPT_URL",
	  "OpenAI offers this login for use of Codex by its subscriber. Only the unmodified program 'codex' gets it.",
	  codex_token, codex_describe },
	{ "gemini", ".gemini/oauth_creds.json", NULL, "gemini", "CODE_ASSIST_ENDPOINT",
	  "Google offers this login for use of Gemini CLI by its owner. Only the unmodified program 'gemini' gets it. Its token lives for an hour; a request of 'gemini' on the host renews it.",
	  gemini_token, gemini_describe },
	{ "opencode", ".local/share/opencode/auth.json", NULL, "opencode", "SANDGLASS_CHATGPT_URL",
	  "This is the ChatGPT login of OpenCode, a program that is not OpenAI's: whether your plan permits it is between you and OpenAI. Only the program 'opencode' gets it. A request of 'opencode' on the host renews its token.",
	  opencode_token, opencode_describe },
	{ "pi", ".pi/agent/auth.json", NULL, "pi", "SANDGLASS_CHATGPT_URL",
	  "This is the ChatGPT login of pi, a program that is not OpenAI's: whether your plan permits it is between you and OpenAI. Only the program 'pi' gets it. A request of 'pi' on the host renews its token.",
	  pi_token, pi_describe },
};
const size_t login_kinds_nr = ARRAY_LEN(login_kinds);

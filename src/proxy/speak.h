/* The common parts of models' APIs, as far as a proxy between an agent and its provider must know
 * them: the paths, the place of the conversation in a request, the place of a key, and the form of
 * text in an answer. No I/O.
 *
 * Sources: the providers' public references for Messages, Chat Completions, Responses, and
 * generateContent. Any thread. */
#ifndef PROXY_SPEAK_H
#define PROXY_SPEAK_H

#include "base/buf.h"
#include "base/json.h"

/* SPEAK_CODE_ASSIST: requests and answers of Gemini in an envelope, {"model","request":{...}} and
 * {"response":{...}}, as its programs send them with a login. */
enum speak {
	SPEAK_NONE,
	SPEAK_ANTHROPIC,
	SPEAK_CHAT,
	SPEAK_RESPONSES,
	SPEAK_GEMINI,
	SPEAK_CODE_ASSIST
};

const char *speak_name(enum speak s); /* "anthropic" "openai_chat" "openai" "gemini", "" */

/* Does an agent need @method @path (without query) of a server that speaks @dialect ("anthropic",
 * "openai", "gemini")? @out: the protocol of that path; SPEAK_NONE for paths that generate nothing
 * (models, count_tokens). */
bool speak_path(const char *dialect, const char *method, const char *path, enum speak *out);

/* Is this header one that carries a credential? @name in lower case. */
bool speak_credential(const char *name);

/* --- requests --- */

/* The body in the parts that stay the same from call to call: the bytes before the list of
 * messages, each message, the bytes after. Together they are the body. A body that can't be parsed
 * is one piece. */
typedef void speak_piece_fn(void *self, const char *bytes, size_t len);
void speak_pieces(enum speak s, const char *body, size_t len, speak_piece_fn *piece, void *self);

/* borrows from one of them or ""; in @path up to ':' */
const char *speak_model(const json_t *req, const char *path);
bool speak_streams(enum speak s, const json_t *req, const char *path);
json_t *speak_messages(enum speak s, const json_t *req); /* borrowed array, NULL if there is none */
json_t *speak_tools(const json_t *req);			 /* names; returns owned array */
/* Tools that the provider itself would run with its own network ("web_search", "mcp", ...): names;
 * returns owned array. */
json_t *speak_provider_tools(const json_t *req);

/* Results of tools at the end of the conversation: those after the last thing that the model said.
 * @text is borrowed. */
typedef void speak_result_fn(void *self, const char *id, const char *text, bool error);
void speak_results(enum speak s, const json_t *req, speak_result_fn *fn, void *self);

/* Puts @prompt before the system prompt of @req. */
void speak_prompt(enum speak s, json_t *req, const char *prompt);

/* --- answers --- */

/* Appends the rest of an answer that says @text and ends the turn: events, or the whole body.
 * @begun: the head of a stream has been passed on; @items: how many blocks have. */
void speak_say(enum speak s, bool stream, bool begun, size_t items, const char *model,
	       const char *text, struct buf *out);
/* An error that no agent tries again (status 403), in the form that all their parsers accept. */
void speak_error(const char *type, const char *text, struct buf *out);
/* The same within a stream that has begun. */
void speak_stream_error(enum speak s, const char *text, struct buf *out);

#endif

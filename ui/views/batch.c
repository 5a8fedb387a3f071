#include "ui/views/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/frame/prompt.h"
#include "ui/term/fmt.h"
#include "ui/rows/row.h"

static size_t views_batch_find(const struct batch *b, size_t source, uint64_t action)
{
	size_t i = 0;
	while (i < b->nr && (b->item[i].source != source || b->item[i].action != action))
		i++;
	return i;
}

bool batch_has(const struct batch *b, size_t source, uint64_t action)
{
	return views_batch_find(b, source, action) < b->nr;
}

static void views_batch_take_out(struct batch *b, size_t i)
{
	memmove(&b->item[i], &b->item[i + 1], (--b->nr - i) * sizeof(b->item[0]));
}

static bool views_batch_hides(const char *what)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	return sanitize_text(what, strlen(what), SANITIZE_EXACT, &out) > 0;
}

static void views_batch_load(struct batch_item *it, struct source *s, bool whole)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct approval_info info;
	approval_load(&info, s, it->action, &a);
	CLEANUP(json_release) json_t *req = source_body(s, it->action);
	const char *what = action_what(req, &a);
	snprintf(it->intent, sizeof(it->intent), "%s", info.intent);
	snprintf(it->rule, sizeof(it->rule), "%s", info.rule);
	snprintf(it->what, sizeof(it->what), "%s", what);
	it->not = info.high			 ? "its risk is high"
		  : info.type			 ? "a rule requires a typed name"
		  : strchr(what, '\n') || !whole ? "its line does not show all of it"
		  : views_batch_hides(what)	 ? "it has hidden characters"
		  : !*info.rule			 ? "no rule stopped it"
						 : NULL;
}

void batch_pick(struct batch *b, struct ui *ui, size_t source, uint64_t action, bool whole)
{
	struct source *s = ui_source(ui, source);
	size_t i = views_batch_find(b, source, action);
	const struct model_action *act = s ? model_action(&s->model, action) : NULL;
	if (i < b->nr) {
		views_batch_take_out(b, i);
	} else if (!act || act->state != ACT_WAITS) {
		ui_say(ui, ROLE_DIM, "answer each question on its own: Enter");
	} else if (b->nr == BATCH_MAX) {
		ui_say(ui, ROLE_DIM, "%d are marked; that is enough to decide at once", BATCH_MAX);
	} else {
		b->item[b->nr] = (struct batch_item){ .source = source, .action = action };
		views_batch_load(&b->item[b->nr++], s, whole);
	}
}

void batch_refresh(struct batch *b, const struct ui *ui)
{
	for (size_t i = b->nr; i-- > 0;) {
		const struct source *s = ui_source(ui, b->item[i].source);
		const struct model_action *act =
			s ? model_action(&s->model, b->item[i].action) : NULL;
		if (!act || act->state != ACT_WAITS)
			views_batch_take_out(b, i);
	}
}

const char *batch_why_not(const struct batch *b)
{
	if (b->nr == 0)
		return "nothing is selected: Space selects, Enter opens one";
	for (size_t i = 0; i < b->nr; i++)
		if (b->item[i].not )
			return b->item[i].not ;
	for (size_t i = 1; i < b->nr; i++)
		if (strcmp(b->item[i].rule, b->item[0].rule) != 0)
			return "they were stopped by different rules";
	return NULL;
}

/* --- deciding ---------------------------------------------------------------------------------
 */

static void views_batch_send_all(struct batch *b, struct ui *ui, const char *word,
				 const char *message)
{
	size_t nr = 0;
	batch_refresh(b, ui);
	for (size_t i = 0; i < b->nr; i++) {
		const struct batch_item *it = &b->item[i];
		char id[32];
		snprintf(id, sizeof(id), "%" PRIu64, it->action);
		const char *words[] = { word, id, NULL };
		json_t *opts = json_object();
		if (*it->intent)
			json_put_str(opts, "intent", it->intent);
		if (message && *message)
			json_put_str(opts, "message", message);
		nr += ui_send(ui, it->source, words, opts);
	}
	b->nr = 0;
	if (nr > 1) /* ui_send names a single one */
		ui_say(ui, ROLE_DIM, "%zu actions %s", nr,
		       strcmp(word, "deny") == 0 ? "denied; agents continue" : "approved once");
}

static void views_batch_approved(struct ui *ui, const char *key)
{
	struct batch *b = batch_on_top(ui);
	if (b && key && *key == 'y' && !batch_why_not(b))
		views_batch_send_all(b, ui, "approve", NULL);
}

static void views_batch_denied(struct ui *ui, const char *text)
{
	struct batch *b = batch_on_top(ui);
	if (b && text)
		views_batch_send_all(b, ui, "deny", text);
}

void batch_approve(struct batch *b, struct ui *ui)
{
	const struct subject on = { .source = b->item[0].source, .action = b->item[0].action };
	CLEANUP(buf_release) struct buf label = BUF_INIT, what = BUF_INIT;
	bool same = true;
	for (size_t i = 1; i < b->nr; i++)
		same = same && strcmp(b->item[i].what, b->item[0].what) == 0;
	sanitize_line(b->item[0].what, strlen(b->item[0].what), SANITIZE_EXACT, &what);
	buf_printf(&label, "approve %zu x `%.40s`%s by rule '%.24s'?  (y/n)", b->nr,
		   buf_cstr(&what), same ? "" : " and others", b->item[0].rule);
	prompt_sure(ui, buf_cstr(&label), "yn", &on, views_batch_approved);
}

void batch_deny(struct batch *b, struct ui *ui)
{
	const struct subject on = { .source = b->item[0].source, .action = b->item[0].action };
	CLEANUP(free_ptr)
	char *label = b->nr == 1
			      ? mem_printf("deny #%" PRIu64 ", and tell the agent (may be empty):",
					   b->item[0].action)
			      : mem_printf("deny %zu, and tell the agents (may be empty):", b->nr);
	ui_ask(ui, label, &on, views_batch_denied);
}

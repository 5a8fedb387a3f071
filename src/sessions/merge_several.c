#include "sessions/merge_several.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sessions/merge_choose.h"
#include "sessions/merge_recover.h"
#include "sessions/merge_text.h"

/* The options, held as a merge needs them. */
struct several_opts {
	struct box_merge_opts box;
	struct pick pick;
	struct strv leave, take;
	struct buf into; /* "": the directories of the sandboxes */
};

static void several_words(const json_t *v, struct strv *out)
{
	CLEANUP(buf_release) struct buf one = BUF_INIT;
	if (json_is_array(v))
		json_get_argv(v, out);
	else if (json_get_bytes(v, &one))
		strv_push(out, buf_cstr(&one));
}

static int several_opts_read(struct several_opts *o, const json_t *opts, struct err *err)
{
	const char *patch = json_str(opts, "patch", NULL);
	*o = (struct several_opts){
		.pick = PICK_INIT, .leave = STRV_INIT, .take = STRV_INIT, .into = BUF_INIT
	};
	(void)json_get_bytes(json_object_get(opts, "into"), &o->into);
	several_words(json_object_get(opts, "leave"), &o->leave);
	several_words(json_object_get(opts, "take"), &o->take);
	o->box = (struct box_merge_opts){
		.mode = patch				   ? MERGE_PATCH
			: json_object_get(opts, "apply")   ? MERGE_APPLY
			: json_object_get(opts, "commits") ? MERGE_COMMITS
							   : MERGE_BRANCH,
		.branch = json_str(opts, "to", NULL),
		.patch = patch,
		.message = json_str(opts, "message", NULL),
		.ignored = json_object_get(opts, "ignored") != NULL,
		.pick = &o->pick,
		.leave = &o->leave,
		.left = mem_calloc(o->leave.nr + 1, sizeof(bool)),
	};
	return pick_opts(&o->pick, opts, err);
}

static void several_opts_release(struct several_opts *o)
{
	pick_release(&o->pick);
	strv_release(&o->leave);
	free(o->box.left);
	strv_release(&o->take);
	buf_release(&o->into);
}

static int several_check(const struct merge_several *m, const struct several_opts *o,
			 struct err *err)
{
	if (m->nr < 2 && o->take.nr)
		return err_set(err, ERR_USAGE, "--take decides between sandboxes; one is merged");
	if (m->nr > 1 && o->pick.nr)
		return err_set(
			err, ERR_USAGE,
			"--hunks takes parts of one sandbox; merge it alone, or leave files out with --leave");
	if (m->nr > 1 && o->box.mode == MERGE_PATCH)
		return err_set(err, ERR_USAGE,
			       "--patch writes the changes of one sandbox; name one");
	return 0;
}

static void several_group(struct merge_several *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (m->nr < 2)
		return;
	for (size_t i = 0; i < m->nr; i++)
		buf_printf(&text, "%s/", m->merge[i].id);
	merge_id_of(text.data, text.len, m->group);
	for (size_t i = 0; i < m->nr; i++)
		m->merge[i].group = m->group;
}

static int several_plan(struct merge_several *m, struct several_opts *o, bool again,
			struct err *err)
{
	for (size_t i = 0; i < m->nr; i++)
		if (box_merge_plan(&m->merge[i], &o->box, err) < 0)
			return -1;
	if (!again)
		several_group(m);
	for (size_t i = 0; i < m->nr; i++)
		if (box_merge_run(&m->merge[i], &o->box, true, err) < 0)
			return m->nr > 1 ? err_wrap(err, "sandbox '%s'", m->merge[i].box->name)
					 : -1;
	return 0;
}

/* A pattern with a typing error would merge what is meant to stay out. */
static int several_left(const struct several_opts *o, struct err *err)
{
	for (size_t i = 0; i < o->leave.nr; i++)
		if (!o->box.left[i])
			return err_set(err, ERR_USAGE, "--leave '%s': no changed file matches",
				       o->leave.item[i]);
	return 0;
}

/* Conflicts of each with its target. */
static int several_targets_clean(const struct merge_several *m, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; i < m->nr; i++) {
		const struct box_merge *b = &m->merge[i];
		if (b->result.clean)
			continue;
		buf_printf(&text, "%s sandbox %s:", text.len ? ";" : "", b->box->name);
		merge_conflicts(b->body, &text);
	}
	return text.len ? err_set(err, ERR_INVALID, "nothing merged: conflicts:%s", buf_cstr(&text))
			: 0;
}

static int several_compare(struct merge_several *m, struct several_opts *o, struct err *err)
{
	struct between b;
	int rc = between_find(&b, m->merge, m->nr, err);
	for (size_t i = 0; rc == 0 && i < o->take.nr; i++)
		rc = between_take(&b, m->merge, m->nr, o->take.item[i], err);
	json_decref(m->between);
	json_decref(m->both);
	m->between = between_json(&b, m->merge, true);
	m->both = between_json(&b, m->merge, false);
	if (rc == 0 && !between_clean(&b) && !m->dry) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		between_text(m->between, &text);
		rc = err_set(
			err, ERR_INVALID,
			"nothing was merged, the sandboxes conflict:%s; decide with --take SANDBOX:PATH or --leave PATH",
			buf_cstr(&text));
	}
	between_release(&b);
	return rc;
}

/* Passes the branches of @done to the sandboxes behind it. */
static void several_onto(json_t *list, const struct box_merge *done)
{
	const json_t *targets = json_object_get(done->result.body, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);
		const char *from = json_str(t, "from", NULL);
		json_t *o = json_object();
		json_put_str(o, "head", from ? from : json_str(t, "old", NULL));
		json_put_str(o, "new", json_str(t, "new", ""));
		json_put_str(o, "ref", json_str(t, "ref", ""));
		json_array_append_new(list, o);
	}
}

/* A later reader can tell whether a dry run was of the same choice. */
static void several_put_choice(struct merge_several *m, const struct several_opts *o)
{
	for (size_t i = 0; m->dry && i < m->nr; i++) {
		if (o->leave.nr && m->merge[i].body)
			json_put(m->merge[i].body, "leave", json_argv(o->leave.item, o->leave.nr));
		if (o->take.nr && m->merge[i].body)
			json_put(m->merge[i].body, "take", json_argv(o->take.item, o->take.nr));
	}
}

/* The first @nr are taken back: @why failed. */
static void several_back(struct merge_several *m, size_t nr, struct err *why)
{
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	while (nr-- > 0) {
		struct box_merge *b = &m->merge[nr];
		struct merge_opts o = { .id = b->id, .undo_dir = dir };
		struct err err = ERR_INIT;
		json_t *body = NULL;
		failpoint_hit("merge-several-back");
		if (merge_undo(&o, &body, &err) < 0) {
			struct err was = *why;
			b->stays = true;
			err_set(why, was.code,
				"%.200s; sandbox '%.60s' is merged, and that merge can't be undone: %.150s",
				was.text, b->box->name, err.text);
		} else {
			box_merge_fail(b, why);
		}
		json_decref(body);
	}
}

static int several_intend(struct merge_several *m, const struct several_opts *o, struct err *err)
{
	json_t *list = json_array();
	for (size_t i = 0; i < m->nr; i++) {
		json_t *one = json_object();
		json_put_str(one, "merge", m->merge[i].id);
		json_put_int(one, "box", (int64_t)m->merge[i].box->id);
		json_put_str(one, "name", m->merge[i].box->name);
		json_put_str(one, "mode", merge_mode_name(o->box.mode));
		json_array_append_new(list, one);
		m->merge[i].hold = &m->intent.fd;
	}
	return merge_intent_write(&m->intent, session_id(m->merge[0].read), list, err);
}

static int several_write(struct merge_several *m, struct several_opts *o, struct err *err)
{
	json_t *onto = json_array();
	int rc = o->box.mode == MERGE_PATCH ? 0 : several_intend(m, o, err);
	failpoint_hit("merge-several-begun");
	for (size_t i = 0; rc == 0 && i < m->nr; i++) {
		struct box_merge *b = &m->merge[i];
		b->onto = m->nr > 1 ? onto : NULL;
		rc = box_merge_run(b, &o->box, false, err);
		b->onto = NULL;
		failpoint_hit("merge-several-one");
		if (rc == 0)
			several_onto(onto, b);
		else if (m->nr > 1)
			err_wrap(err, "sandbox '%s'", b->box->name);
		if (rc < 0)
			several_back(m, i, err);
	}
	json_decref(onto);
	return rc;
}

static int several_into(struct merge_several *m, struct session *s, const struct several_opts *o,
			struct err *err)
{
	for (size_t i = 0; o->into.len && i < m->nr; i++) {
		size_t box = (size_t)(m->merge[i].box - m->known.box);
		if (unmerged_into(&m->known, box, o->into.data, s, err) < 0)
			return -1;
	}
	return 0;
}

static int several_choose(struct merge_several *m, struct session *s, const struct strv *names,
			  const json_t *opts, struct err *err)
{
	/* a patch shows all changes; ignored files are not counted among what is not merged */
	bool again = json_object_get(opts, "patch") || json_object_get(opts, "ignored"),
	     all = json_object_get(opts, "all") != NULL;
	if (unmerged_read(&m->known, s, err) < 0)
		return -1;
	m->known.nr_recovered += json_array_size(m->recovered);
	const struct unmerged_box **box = mem_calloc(m->known.nr + 1, sizeof(*box));
	int rc = merge_choose(&m->known, session_id(s), names, all, again, box, &m->nr, err);
	m->merge = mem_calloc(m->nr + 1, sizeof(*m->merge));
	for (size_t i = 0; i < m->nr; i++)
		m->merge[i] = (struct box_merge){ .read = s, .known = &m->known, .box = box[i] };
	free(box);
	return rc;
}

int merge_several_run(struct merge_several *m, struct session *s, const struct strv *names,
		      const json_t *opts, struct err *err)
{
	struct several_opts o;
	*m = (struct merge_several){ .known = UNMERGED_INIT,
				     .intent = MERGE_INTENT_INIT,
				     .dry = json_object_get(opts, "dry-run") != NULL };
	int rc = several_opts_read(&o, opts, err);
	if (rc == 0 && !m->dry)
		rc = merge_recover(s, &m->recovered, err);
	else if (rc == 0)
		m->interrupted = merge_recover_boxes(s);
	if (rc == 0)
		rc = several_choose(m, s, names, opts, err);
	if (rc == 0)
		rc = several_into(m, s, &o, err);
	if (rc == 0)
		rc = several_check(m, &o, err);
	if (rc == 0)
		rc = several_plan(m, &o, false, err);
	if (rc == 0)
		rc = several_left(&o, err);
	if (rc == 0)
		rc = pick_check(&o.pick, err);
	if (rc == 0 && m->nr > 1)
		rc = several_compare(m, &o, err);
	if (rc == 0 && o.take.nr)
		rc = several_plan(m, &o, true, err);
	if (rc == 0 && !m->dry)
		rc = several_targets_clean(m, err);
	if (rc == 0 && !m->dry)
		rc = several_write(m, &o, err);
	for (size_t i = 0; rc < 0 && i < m->nr; i++)
		if (!m->merge[i].stays)
			box_merge_fail(&m->merge[i], err);
	for (size_t i = 0; m->between && i < m->nr; i++)
		if (m->merge[i].body && json_array_size(m->between))
			json_put(m->merge[i].body, "between", json_incref(m->between));
	for (size_t i = 0; json_array_size(m->interrupted) && i < m->nr; i++)
		if (m->merge[i].body)
			json_put(m->merge[i].body, "interrupted", json_incref(m->interrupted));
	several_put_choice(m, &o);
	several_opts_release(&o);
	return rc;
}

bool merge_several_half(const struct merge_several *m)
{
	CLEANUP(free_ptr) char *dir = paths_state("undo");
	for (size_t i = 0; i < m->nr; i++) {
		struct merge_opts o = { .id = m->merge[i].id, .undo_dir = dir };
		if (!m->merge[i].result.done && *o.id && merge_stands(&o))
			return true;
	}
	return false;
}

void merge_several_settled(struct merge_several *m)
{
	failpoint_hit("merge-several-recorded");
	if (merge_several_half(m))
		merge_intent_release(&m->intent);
	else
		merge_intent_remove(&m->intent);
}

void merge_several_release(struct merge_several *m)
{
	for (size_t i = 0; i < m->nr; i++)
		box_merge_release(&m->merge[i]);
	free(m->merge);
	json_decref(m->between);
	json_decref(m->both);
	json_decref(m->recovered);
	json_decref(m->interrupted);
	merge_intent_release(&m->intent);
	unmerged_release(&m->known);
	*m = (struct merge_several){ .known = UNMERGED_INIT, .intent = MERGE_INTENT_INIT };
}

/* --- the result --- */

json_t *merge_several_result(const struct merge_several *m, const uint64_t *event)
{
	json_t *o = json_object(), *boxes = json_array();
	bool clean = json_array_size(m->between) == 0;
	for (size_t i = 0; i < m->nr; i++) {
		const struct box_merge *b = &m->merge[i];
		json_t *one = json_object();
		json_put_int(one, "box", (int64_t)b->box->id);
		json_put_str(one, "name", b->box->name);
		json_put_int(one, "event", (int64_t)event[i]);
		json_object_update_missing(one, b->body);
		json_array_append_new(boxes, one);
		clean &= b->result.clean;
	}
	json_put_str(o, "group", m->group);
	json_put_flag(o, "clean", clean);
	json_put(o, "between", m->between ? json_incref(m->between) : json_array());
	json_put(o, "both", m->both ? json_incref(m->both) : json_array());
	json_put(o, "boxes", boxes);
	if (json_array_size(m->interrupted))
		json_put(o, "interrupted", json_incref(m->interrupted));
	return o;
}

void merge_several_text(const json_t *result, bool dry, struct buf *out)
{
	const json_t *list = json_object_get(result, "boxes"),
		     *between = json_object_get(result, "between"),
		     *both = json_object_get(result, "both");
	if (json_array_size(between)) {
		buf_puts(out, "the sandboxes conflict:");
		between_text(between, out);
		buf_putc(out, '\n');
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		buf_puts(out, i ? "\n" : "");
		merge_text(one, json_str(one, "name", ""), dry, out);
		if (dry && json_int(json_object_get(one, "counts"), "conflict", 0)) {
			buf_puts(out, "\n  conflict:");
			merge_conflicts(one, out);
		}
		buf_printf(out, " (#%" PRId64 ")", json_int(one, "event", 0));
	}
	if (json_array_size(both)) {
		buf_puts(out, dry ? "\nwould be merged by lines:" : "\nmerged by lines:");
		between_text(both, out);
	}
}

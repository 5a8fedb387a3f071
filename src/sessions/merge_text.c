#include "sessions/merge_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/workspace/state.h"

enum { NAMED_PATHS = 10 };

static bool text_path(const json_t *v, struct buf *out)
{
	return json_get_bytes(
		json_is_object(v) && json_object_get(v, "path") ? json_object_get(v, "path") : v,
		out);
}

static void text_targets(const json_t *body, const char *box, bool dry, struct buf *out)
{
	const json_t *list = json_object_get(body, "targets");
	size_t several = 0, nr = 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		several += json_int(json_array_get(list, i), "files", 0) > 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *t = json_array_get(list, i);
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		int64_t files = json_int(t, "files", 0),
			same = json_int(json_object_get(t, "counts"), "identical", 0);
		const char *ref = json_str(t, "ref", "");
		if (!files && several)
			continue;
		json_get_bytes(json_object_get(t, *json_str(t, "patch", "") ? "patch" : "dir"),
			       &dir);
		buf_printf(out, "%s%s%s%s: %" PRId64 " change%s to ", nr++ ? "\n" : "",
			   dry ? "would merge" : "merged", box ? " " : "", box ? box : "", files,
			   files == 1 ? "" : "s");
		buf_append(out, buf_cstr(&dir), dir.len);
		if (*ref)
			buf_printf(out, ", %s", ref);
		if (same)
			buf_printf(out, " (%" PRId64 " already there)", same);
	}
}

/* Branches of the sandbox that became yours. */
static void text_branches(const json_t *body, bool dry, struct buf *out)
{
	const json_t *list = json_object_get(body, "targets");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *of = json_object_get(json_array_get(list, i), "branches");
		for (size_t k = 0; k < json_array_size(of); k++) {
			const json_t *b = json_array_get(of, k);
			int64_t nr = json_int(b, "commits", 0);
			if (*json_str(b, "ref", ""))
				buf_printf(out, "\n  %s %s: %" PRId64 " commit%s to %s",
					   dry ? "would bring" : "brought", json_str(b, "name", ""),
					   nr, nr == 1 ? "" : "s", json_str(b, "ref", ""));
		}
	}
}

static void text_branches_left(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(body, "branches_left");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *b = json_array_get(list, i);
		const char *why = json_str(b, "why", "");
		buf_printf(out, "%s %s%s%s%s",
			   i ? "," : "\n  branches that are not merged:", json_str(b, "name", "?"),
			   *why ? " (" : "", why, *why ? ")" : "");
	}
}

static void text_list(const json_t *list, int64_t nr, bool whys, struct buf *out)
{
	int64_t named = 0;
	for (size_t i = 0; i < json_array_size(list) && named < NAMED_PATHS; i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		const json_t *v = json_array_get(list, i);
		if (!text_path(v, &path) || ws_path_is_git(buf_cstr(&path), path.len))
			continue;
		buf_puts(out, named++ ? ", " : " ");
		buf_append(out, buf_cstr(&path), path.len);
		if (whys && *json_str(v, "why", ""))
			buf_printf(out, " (%s)", json_str(v, "why", ""));
	}
	if (nr > named && named)
		buf_printf(out, " and %" PRId64 " more", nr - named);
}

/* Leaves out git's own files, which are in every sandbox that used git. They come last in a list:
 * if it has one, all others are named. */
static int64_t text_without_git(const json_t *list, int64_t nr)
{
	int64_t git = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		git += text_path(json_array_get(list, i), &path) &&
		       ws_path_is_git(buf_cstr(&path), path.len);
	}
	return git ? (int64_t)json_array_size(list) - git : nr;
}

static void text_rest(const json_t *body, struct buf *out)
{
	static const struct {
		const char *name, *text, *todo;
		bool whys;
	} row[] = {
		{ "left", "left out by your choice", "", false },
		{ "ignored", "ignored by the repository",
		  "; --ignored merges them while the sandbox is open", false },
		{ "hash_only", "not in the recording, which has their hash only", "", false },
		{ "refused", "not merged", "", true },
	};
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const json_t *list = json_object_get(json_object_get(body, "paths"), row[i].name);
		int64_t nr = text_without_git(
			list, json_int(json_object_get(body, "counts"), row[i].name, 0));
		if (nr <= 0)
			continue;
		buf_printf(out, "\n  %s:", row[i].text);
		text_list(list, nr, row[i].whys, out);
		buf_puts(out, row[i].todo);
	}
}

static void text_notices(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(body, "targets");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *t = json_array_get(list, i),
			     *untracked = json_object_get(t, "untracked"),
			     *since = json_object_get(t, "changed_since");
		if (json_array_size(untracked)) {
			buf_puts(out, "\n  untracked in your working tree:");
			text_list(untracked, (int64_t)json_array_size(untracked), false, out);
			buf_puts(out, "; move your copy away before you switch to the branch");
		}
		if (json_array_size(since)) {
			buf_puts(out,
				 "\n  changed by another process during the merge, and left so:");
			text_list(since, (int64_t)json_array_size(since), false, out);
		}
	}
}

/* Files that the sandbox or the recording lacks: they are not among the changes. */
static void text_left_out(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(body, "notices");
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(out, "\n  %s", json_str(json_array_get(list, i), "text", ""));
}

void merge_text(const json_t *body, const char *box, bool dry, struct buf *out)
{
	text_targets(body, box, dry, out);
	text_branches(body, dry, out);
	text_rest(body, out);
	text_branches_left(body, out);
	text_notices(body, out);
	text_left_out(body, out);
}

void merge_conflicts(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(json_object_get(body, "paths"), "conflict");
	int64_t nr = json_int(json_object_get(body, "counts"), "conflict", 0);
	text_list(list, nr, true, out);
}

static void text_undone_ref(const json_t *t, struct buf *out)
{
	const char *ref = json_str(t, "ref", ""), *heads = "refs/heads/";
	bool branch = !strncmp(ref, heads, strlen(heads));
	if (!*ref)
		return;
	buf_printf(out, "; %s%s ", branch ? "branch " : "", branch ? ref + strlen(heads) : ref);
	if (*json_str(t, "ref_kept", ""))
		buf_printf(out, "kept: %s", json_str(t, "ref_kept", ""));
	else
		buf_puts(out, json_flag(t, "ref_deleted", false) ? "deleted" : "is as it was");
}

static void text_undone_branches(const json_t *t, const char *key, const char *what,
				 struct buf *out)
{
	const json_t *list = json_object_get(t, key);
	const char *heads = "refs/heads/";
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *ref = json_string_value(json_array_get(list, i));
		bool branch = ref && !strncmp(ref, heads, strlen(heads));
		buf_printf(out, "; branch %s %s", branch ? ref + strlen(heads) : ref, what);
	}
}

/* Files that a merge which was killed left beside those of the user. */
static void text_leftover(const json_t *t, struct buf *out)
{
	const json_t *list = json_object_get(t, "leftover");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT, of = BUF_INIT;
		const char *what = json_str(o, "what", "");
		json_get_bytes(json_object_get(o, "path"), &path);
		json_get_bytes(json_object_get(o, "of"), &of);
		if (!strcmp(what, "removed"))
			buf_printf(out, "; leftover '%s' removed", buf_cstr(&path));
		else if (!strcmp(what, "put back"))
			buf_printf(out, "; '%s' is another process's version again, from '%s'",
				   buf_cstr(&of), buf_cstr(&path));
		else
			buf_printf(out, "; another process's version of '%s' stays as '%s'",
				   buf_cstr(&of), buf_cstr(&path));
	}
}

static void text_undone_target(const json_t *t, struct buf *out)
{
	int64_t written = json_int(t, "written", 0);
	json_t *kept = json_object_get(t, "kept");
	if (json_flag(t, "gone", false)) {
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		json_get_bytes(json_object_get(t, "dir"), &dir);
		buf_printf(out, "; directory '%s' not found, nothing put back there",
			   buf_cstr(&dir));
		return;
	}
	if (written || !*json_str(t, "ref", "")) {
		CLEANUP(buf_release) struct buf dir = BUF_INIT;
		json_get_bytes(json_object_get(t, "dir"), &dir);
		buf_printf(out, "; %" PRId64 " file%s put back in ", written,
			   written == 1 ? "" : "s");
		buf_append(out, buf_cstr(&dir), dir.len);
	}
	text_undone_ref(t, out);
	text_undone_branches(t, "branches_deleted", "deleted", out);
	text_undone_branches(t, "branches_kept", "kept: it has moved or is checked out", out);
	if (*json_str(t, "head_kept", ""))
		buf_printf(out, "; HEAD kept: %s", json_str(t, "head_kept", ""));
	if (json_array_size(kept)) {
		buf_puts(out, "; changed since and left as they are:");
		text_list(kept, (int64_t)json_array_size(kept), false, out);
	}
	text_leftover(t, out);
}

void merge_leftover_text(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(body, "targets");
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++)
		text_leftover(json_array_get(list, i), &all);
	if (all.len)
		buf_append(out, all.data + 2, all.len - 2);
}

void merge_undone_text(const json_t *body, struct buf *out)
{
	const json_t *list = json_object_get(body, "targets");
	if (json_flag(body, "interrupted", false))
		buf_printf(out, "interrupted merge of sandbox %s undone",
			   json_str(body, "name", ""));
	else
		buf_printf(out, "merge #%" PRId64 " undone", json_int(body, "of", 0));
	for (size_t i = 0; i < json_array_size(list); i++)
		text_undone_target(json_array_get(list, i), out);
}

void merge_interrupted_text(const json_t *result, const char *session, struct buf *out)
{
	const json_t *list = json_object_get(result, "interrupted");
	if (json_array_size(list))
		buf_puts(out, "changes of an interrupted merge of ");
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(out, "%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
	if (json_array_size(list))
		buf_printf(out,
			   " are still there\n"
			   "The merge takes them back first; so does 'sandglass undo%s%s'.",
			   session ? " " : "", session ? session : "");
}

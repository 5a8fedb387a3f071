/* sandglass prune: removes sessions and what their boxes have left on disk. Never one that runs. */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/orphans.h"
#include "sessions/tombstone.h"
#include "cli/choice_options.h"
#include "cli/prune_policy.h"
#include "sessions/box_folder.h"
#include "sessions/companions.h"
#include "sessions/sessions.h"
#include "supervisor/core/disk_space.h"
#include "sessions/unmerged.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/share.h"
#include "control/socket.h"
#include "record/catalog_forget.h"
#include "record/copies_left.h"
#include "record/read/lease.h"

struct prune {
	struct cmd_ctx *ctx;
	struct session_files files;
	bool *chosen;
	int64_t *takes; /* of those that are chosen */
	size_t *work;	/* ... files of boxes that nobody has merged */
	int64_t bytes, freed;
	bool merged; /* leave those with work that is not */
	struct session_choice choice;
	struct catalog *catalog; /* owned */
	struct prune_policy policy;
	size_t nr, removed, running, failed, unmerged, spared;
	char unknown[480]; /* why copies of the removed sessions may be left; "" = none is */
};

static void prune_begin(struct prune *p)
{
	p->chosen = mem_calloc(p->files.nr + 1, sizeof(*p->chosen));
	p->takes = mem_calloc(p->files.nr + 1, sizeof(*p->takes));
	p->work = mem_calloc(p->files.nr + 1, sizeof(*p->work));
	p->catalog = catalog_open(p->ctx->sessions);
}

static void prune_release(struct prune *p)
{
	free(p->chosen);
	free(p->takes);
	free(p->work);
	catalog_close(&p->catalog);
	prune_policy_release(&p->policy);
	session_files_release(&p->files);
}

/* The file, what lies beside it, and the directories of its boxes. */
static int64_t cmd_prune_takes(const struct session_file *f)
{
	CLEANUP(free_ptr) char *boxes = box_folder(f->id);
	return f->size + session_companions_usage(f->path) +
	       (box_folder_is(boxes, f->path) ? cmd_disk_usage(boxes) : 0);
}

static void cmd_prune_choose(struct prune *p, size_t i)
{
	if (p->chosen[i] || !p->files.item[i].mtime_us) /* a missing file holds no session */
		return;
	if (lease_held(p->files.item[i].path)) {
		p->running++;
		return;
	}
	size_t work;
	bool known = unmerged_in_file(p->files.item[i].path, &work);
	if ((work || !known) && (p->merged || cmd_has(p->ctx, "merged"))) {
		p->spared++;
		return;
	}
	p->unmerged += work > 0 || !known;
	p->work[i] = work;
	p->chosen[i] = true;
	p->nr++;
	p->takes[i] = cmd_prune_takes(&p->files.item[i]);
	p->bytes += p->takes[i];
}

static int choose_named(struct prune *p, struct err *err)
{
	for (size_t w = 0; cmd_word(p->ctx, w); w++) {
		CLEANUP(free_ptr) char *path = NULL;
		bool found = false;
		if (session_find(p->ctx->sessions, cmd_word(p->ctx, w), &path, err) < 0)
			return -1;
		for (size_t i = 0; i < p->files.nr; i++)
			if (!strcmp(p->files.item[i].path, path)) {
				found = true;
				if (lease_held(path))
					return err_set(
						err, ERR_BUSY,
						"session %s is running\nEnd it with 'sandglass stop -S %s'.",
						p->files.item[i].id, p->files.item[i].id);
				cmd_prune_choose(p, i);
			}
		if (!found)
			return err_set(
				err, ERR_USAGE,
				"'%s' is not in the sessions directory '%s'\nRemove it yourself.",
				path, p->ctx->sessions);
	}
	return 0;
}

/* "500M", "10G": powers of 1024. */
static bool cmd_prune_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char *end;
	double v = strtod(text, &end);
	const char *unit = isalpha((unsigned char)*end) ? strchr(units, *end & ~0x20) : NULL;
	double bytes = v * (double)(unit ? (uint64_t)1024 << 10 * (unit - units) : 1);
	if (end == text || !(bytes >= 0 && bytes < 0x1p63) || (*end && (!unit || end[1])))
		return false;
	*out = (uint64_t)bytes;
	return true;
}

static int choose_by_age(struct prune *p, struct err *err)
{
	const char *span = cmd_opt(p->ctx, "older-than");
	int64_t age_us = 0, keep = 0, now = clock_wall_us();
	if (span && !clock_parse_span(span, &age_us))
		return err_set(err, ERR_USAGE,
			       "--older-than: expected a time such as 30d or 12h, got '%s'", span);
	if (command_opt_int(p->ctx->line, "keep", 0, 1000000, &keep, err) < 0)
		return -1;
	uint64_t most = 0, total = 0;
	const char *size = cmd_opt(p->ctx, "keep-size");
	if (size && !cmd_prune_size(size, &most))
		return err_set(err, ERR_USAGE, "--keep-size: expected a size like 10G, got '%s'",
			       size);
	size_t newest = 0;
	for (size_t i = 0; i < p->files.nr; i++) { /* newest first */
		const struct session_file *f = &p->files.item[i];
		if (f->archived || !session_choice_takes(&p->choice, p->catalog, f))
			continue;
		total += (uint64_t)cmd_prune_takes(f);
		bool old = span && f->mtime_us < now - age_us, large = size && total > most;
		if (newest++ >= (size_t)keep && (old || large || (!span && !size)))
			cmd_prune_choose(p, i);
	}
	return 0;
}

static void cmd_prune_print_one(struct prune *p, size_t i, const char *what)
{
	const struct session_file *f = &p->files.item[i];
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	if (p->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", f->id);
		json_put_str(o, "name", f->name);
		json_put_int(o, "size_bytes", p->takes[i]);
		if (p->work[i])
			json_put_int(o, "unmerged", (int64_t)p->work[i]);
		json_put_str(o, "done", what);
		cmd_json(p->ctx, o);
		return;
	}
	cmd_size((uint64_t)p->takes[i], &size);
	fprintf(p->ctx->out, "%s %s  %s  ", what, f->id, buf_cstr(&size));
	cmd_print_safe(p->ctx->out, f->name, strlen(f->name), false);
	if (p->work[i])
		fprintf(p->ctx->out, "  %zu file%s not merged", p->work[i],
			p->work[i] == 1 ? "" : "s");
	fputc('\n', p->ctx->out);
}

/* "3 sessions, 1.2 GiB" */
static void print_total(struct prune *p, const char *what, size_t nr, int64_t bytes)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	if (p->ctx->json || !nr)
		return;
	cmd_size((uint64_t)bytes, &size);
	fprintf(p->ctx->out, "%s %zu session%s, %s\n", what, nr, nr == 1 ? "" : "s",
		buf_cstr(&size));
}

static bool cmd_prune_may(struct prune *p)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT, size = BUF_INIT;
	if (!isatty(0))
		return false;
	cmd_size((uint64_t)p->bytes, &size);
	CLEANUP(free_ptr)
	char *q = mem_printf("permanently remove %zu session%s (%s%s)? [y/N] ", p->nr,
			     p->nr == 1 ? "" : "s", buf_cstr(&size),
			     p->unmerged ? ", with work that is not merged" : "");
	return cmd_ask(p->ctx, q, &answer) &&
	       (!strcmp(buf_cstr(&answer), "y") || !strcmp(buf_cstr(&answer), "yes"));
}

/* Its catalog entry may have another name. */
static bool cmd_prune_uuid(const char *path, uint8_t uuid[UUID_LEN])
{
	struct session *s;
	struct err none = ERR_INIT;
	struct session_end end;
	if (session_open(&s, path, &none) < 0)
		return false;
	bool known = session_end(s, &end, &none) == 0;
	if (known)
		memcpy(uuid, end.uuid, UUID_LEN);
	session_close(&s);
	return known;
}

static int cmd_prune_remove_one(struct cmd_ctx *ctx, const struct session_file *f, const char *why,
				struct err *err)
{
	/* a writer that starts now finds the lease taken */
	int lease = lease_take(f->path, NULL, err);
	if (lease < 0)
		return -1;
	if (access(f->path, F_OK) < 0) { /* no tombstone for a session that was moved */
		session_companions_remove(f->path);
		close(lease);
		return err_set(err, ERR_NOENT, "session %s: another command moved or removed it",
			       f->id);
	}
	CLEANUP(free_ptr) char *boxes = box_folder(f->id);
	bool its = box_folder_is(boxes, f->path);
	uint8_t uuid[UUID_LEN];
	bool named = cmd_prune_uuid(f->path, uuid);
	unmerged_forget(ctx, f->path);
	int rc = tombstone_write(ctx->sessions, f, why, err);
	if (rc == 0 && unlink(f->path) < 0)
		rc = err_sys(err, "can't remove '%s'", f->path);
	if (rc == 0)
		session_companions_remove(f->path);
	if (rc == 0)
		rc = catalog_forget(f->path, named ? uuid : NULL, err);
	CLEANUP(free_ptr) char *shared = share_socket(f->path); /* of one that was killed */
	if (rc == 0)
		unlink(shared);
	close(lease);
	return rc == 0 && its ? dir_remove(boxes, err) : rc;
}

/* The session is removed; a copy of it makes this a failure, and so do archives that are away, which
 * prune_unknown_tell names once for all. */
static bool cmd_prune_is_gone(struct prune *p, const struct session_file *f)
{
	struct err err = ERR_INIT;
	if (copies_left(f->path, &err) == 0)
		return true;
	if (err.code == ERR_EXISTS) {
		err_wrap(&err, "session %s removed, but a copy is left", f->id);
		cmd_tell_error(p->ctx, NULL, &err);
		return false;
	}
	if (!p->unknown[0])
		snprintf(p->unknown, sizeof(p->unknown), "%s", err.text);
	return true;
}

static void prune_unknown_tell(struct prune *p)
{
	struct err err = ERR_INIT;
	if (!p->unknown[0])
		return;
	err_set(&err, ERR_NOENT, "copies of the sessions may be left: %s", p->unknown);
	cmd_tell_error(p->ctx, NULL, &err);
	p->failed++;
}

static void remove_chosen(struct prune *p)
{
	for (size_t i = 0; i < p->files.nr; i++) {
		struct err err = ERR_INIT;
		if (!p->chosen[i])
			continue;
		if (cmd_prune_remove_one(p->ctx, &p->files.item[i], cmd_opt(p->ctx, "message"),
					 &err) < 0) {
			p->failed++;
			cmd_tell_error(p->ctx, NULL, &err);
			continue;
		}
		p->failed += !cmd_prune_is_gone(p, &p->files.item[i]);
		cmd_prune_print_one(p, i, "removed");
		p->removed++;
		p->freed += p->takes[i];
	}
	print_total(p, "freed:", p->removed, p->freed);
	prune_unknown_tell(p);
}

/* Sizes first: what would go, how much that is, and what would be lost with it. */
static void list_chosen(struct prune *p)
{
	for (size_t i = 0; i < p->files.nr; i++)
		if (p->chosen[i])
			cmd_prune_print_one(p, i, "would remove");
	print_total(p, "total:", p->nr, p->bytes);
	fflush(p->ctx->out);
	if (p->unmerged && !p->ctx->quiet && p->nr == 1)
		fputs("sandglass: prune: it has unmerged work; 'sandglass sandbox ls' names it\n",
		      p->ctx->err);
	else if (p->unmerged && !p->ctx->quiet)
		fprintf(p->ctx->err,
			"sandglass: prune: %zu of them have unmerged work; 'sandglass sandbox ls' names it\n",
			p->unmerged);
}

/* false: nobody said yes. */
static bool list_or_remove(struct prune *p)
{
	bool dry = cmd_has(p->ctx, "dry-run"), yes = cmd_has(p->ctx, "yes");
	if (dry || (!yes && !p->ctx->json))
		list_chosen(p);
	if (!dry && !yes && !cmd_prune_may(p))
		return false;
	if (!dry)
		remove_chosen(p);
	return true;
}

void prune_warn(struct cmd_ctx *ctx)
{
	CLEANUP(buf_release) struct buf left = BUF_INIT;
	uint64_t room;
	if (ctx->quiet || !disk_space_is_little(ctx->sessions, &room))
		return;
	cmd_size(room, &left);
	fprintf(ctx->err,
		"sandglass: %s left for sessions in '%s'\n'sandglass prune --older-than 30d -n' lists what can be removed.\n",
		buf_cstr(&left), ctx->sessions);
}

static void choose_by_policy(struct prune *p)
{
	const struct prune_policy *policy = &p->policy;
	int64_t before = clock_wall_us() - policy->days * 86400 * 1000000;
	uint64_t total = 0;
	for (size_t i = 0; i < p->files.nr; i++) { /* newest first */
		const struct session_file *f = &p->files.item[i];
		if (f->archived)
			continue;
		if (policy->by_size)
			total += (uint64_t)cmd_prune_takes(f);
		bool old = policy->days && f->mtime_us < before;
		if ((old || (policy->by_size && total > policy->bytes)) &&
		    !prune_policy_keeps(policy, p->catalog, f))
			cmd_prune_choose(p, i);
	}
}

static void prune_old_tell(const struct prune *p)
{
	CLEANUP(free_ptr) char *names = prune_policy_names(&p->policy);
	CLEANUP(free_ptr)
	char *old = p->policy.by_size
			    ? mem_strdup("")
			    : mem_printf(" older than %lld days", (long long)p->policy.days);
	fprintf(p->ctx->err, "sandglass: %zu session%s%s removed (%s)\n", p->removed,
		p->removed == 1 ? "" : "s", old, names);
}

void prune_old(struct cmd_ctx *ctx)
{
	struct prune p = { .ctx = ctx, .merged = true };
	struct err err = ERR_INIT;
	int rc = prune_policy_read(&p.policy, ctx, &err);
	bool any = rc == 0 && prune_policy_any(&p.policy);
	if (any)
		rc = session_files_list(&p.files, ctx->sessions, &err);
	if (rc < 0)
		cmd_tell_error(ctx, NULL, &err);
	if (rc < 0 || !any) {
		prune_policy_release(&p.policy);
		return;
	}
	prune_begin(&p);
	choose_by_policy(&p);
	CLEANUP(free_ptr) char *names = prune_policy_names(&p.policy);
	for (size_t i = 0; i < p.files.nr; i++) {
		struct err why = ERR_INIT;
		if (!p.chosen[i])
			continue;
		if (cmd_prune_remove_one(ctx, &p.files.item[i], names, &why) < 0) {
			cmd_tell_error(ctx, NULL, &why);
			continue;
		}
		(void)!cmd_prune_is_gone(&p,
					 &p.files.item[i]); /* the run has its own exit status */
		p.removed++;
	}
	prune_unknown_tell(&p);
	if (p.removed && !ctx->quiet)
		prune_old_tell(&p);
	prune_release(&p);
}

/* Chooses what the words, the options, or without any the settings say. */
static int cmd_prune_choose_all(struct prune *p, struct err *err)
{
	static const char *const options[] = { "older-than", "keep", "keep-size", "label" };
	struct cmd_ctx *ctx = p->ctx;
	bool plain = !cmd_word(ctx, 0);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		plain &= !cmd_has(ctx, options[i]);
	if (cmd_word(ctx, 0) && cmd_has(ctx, "label"))
		return err_set(err, ERR_USAGE, "expected sessions or --label, got both");
	if (session_choice_read(ctx, &p->choice, err) < 0)
		return -1;
	p->choice.sure = true;
	if (plain && prune_policy_read(&p->policy, ctx, err) < 0)
		return -1;
	if (plain && !prune_policy_any(&p->policy))
		return err_set(err, ERR_USAGE,
			       "missing arguments: sessions to remove\nName sessions, give "
			       "--older-than, --keep, --keep-size, --label, or --boxes, or set "
			       "keep.days or keep.size.%s",
			       cmd_has(ctx, "merged")
				       ? " --merged only leaves out sessions with unmerged work."
				       : "");
	if (session_files_list(&p->files, ctx->sessions, err) < 0)
		return -1;
	p->merged = plain; /* as after a run: settings remove no work that you have not merged */
	prune_begin(p);
	if (!plain)
		return cmd_word(ctx, 0) ? choose_named(p, err) : choose_by_age(p, err);
	choose_by_policy(p);
	return 0;
}

int cmd_prune(struct cmd_ctx *ctx)
{
	struct prune p = { .ctx = ctx };
	struct err err = ERR_INIT;
	int status = EXIT_DONE;
	if (cmd_has(ctx, "removed"))
		return tombstone_list(ctx, ctx->sessions, &err) < 0 ? cmd_fail(ctx, &err)
								    : EXIT_DONE;
	if (cmd_has(ctx, "boxes"))
		return orphans_prune(ctx);
	int rc = cmd_prune_choose_all(&p, &err);
	if (rc < 0)
		status = cmd_fail(ctx, &err);
	else if (!p.nr)
		fprintf(ctx->err, "sandglass: prune: nothing to remove\n");
	else if (!list_or_remove(&p))
		status = cmd_fail_with(
			ctx, EXIT_PERSON,
			"nothing removed: %zu session%s found\nRemove without a question with --yes.",
			p.nr, p.nr == 1 ? "" : "s");
	if (p.spared && !ctx->quiet)
		fprintf(ctx->err, "sandglass: prune: %zu session%s with unmerged work kept\n",
			p.spared, p.spared == 1 ? "" : "s");
	if (p.running && !ctx->quiet)
		fprintf(ctx->err, "sandglass: prune: %zu running session%s kept\n", p.running,
			p.running == 1 ? "" : "s");
	prune_release(&p);
	return p.failed ? EXIT_UNSUCCESSFUL : status;
}

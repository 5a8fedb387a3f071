#include "secrets/honeytoken.h"

#include <stdlib.h>
#include <string.h>

#include "secrets/secret_source.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/effect.h"

/* A token is "npm_36A": its prefix, then 36 letters and digits (U: capitals and digits from 2 to
 * 7). */
static const struct kind {
	const char *name;
	const char *path; /* NULL: a variable */
	const char *text; /* % is where a token stands */
	const char *token[2];
} honeytoken_kinds[] = {
	{ "aws",
	  "/home/agent/.aws/credentials",
	  "[default]\naws_access_key_id = %\naws_secret_access_key = %\n",
	  { "AKIA16U", "40A" } },
	{ "npm", "/home/agent/.npmrc", "//npm.corp.internal/:_authToken=%\n", { "npm_36A" } },
	{ "github",
	  "/home/agent/.config/gh/hosts.yml",
	  "github.com:\n    user: release-bot\n    oauth_token: %\n    git_protocol: https\n",
	  { "ghp_36A" } },
	{ "env", NULL, "DEPLOY_TOKEN=%", { "dpl_40A" } },
};

struct file {
	const char *path;
	struct buf text;
};

struct honey {
	struct super *s;
	uint64_t box;
	struct box *open; /* while files are written */
	struct file file[ARRAY_LEN(honeytoken_kinds)];
	size_t nr_files, written;
	json_t *planted; /* array for honeytoken.planted */
	void (*done)(struct super *s, uint64_t box);
	bool writing, dead;
};

static const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(honeytoken_kinds); i++)
		if (!strcmp(honeytoken_kinds[i].name, name))
			return &honeytoken_kinds[i];
	return NULL;
}

int honeytoken_option(const struct driver *d, const json_t *value, json_t *open, struct err *err)
{
	json_t *list = json_array(), *name;
	size_t i;
	json_array_foreach(value, i, name)
	{
		const char *text = json_is_string(name) ? json_string_value(name) : "?";
		if (!kind_find(text)) {
			json_decref(list);
			return err_set(
				err, ERR_SCRIPT,
				"honeytokens: unknown kind '%s'; known: aws, npm, github, env",
				text);
		}
		json_array_append(list, name);
	}
	for (i = 0; json_is_true(value) && i < ARRAY_LEN(honeytoken_kinds); i++)
		json_array_append_new(list, json_string(honeytoken_kinds[i].name));
	if (json_array_size(list) && strcmp(d->name, "process") != 0 &&
	    strcmp(d->name, "container") != 0) {
		json_decref(list);
		return err_set(
			err, ERR_UNSUPPORTED,
			"honeytokens: sandboxes of backend '%s' have no home directory; use \"process\" or "
			"\"container\", or no honeytokens",
			d->name);
	}
	if (json_array_size(list))
		json_put(open, "honeytokens", list);
	else
		json_decref(list);
	return 0;
}

static void make_token(const char *form, struct buf *out)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t head = strcspn(form, "0123456789");
	char *end;
	unsigned long nr = strtoul(form + head, &end, 10);
	const char *of = *end == 'U' ? capitals : all;
	buf_append(out, form, head);
	for (unsigned long i = 0; i < nr; i++) {
		uint32_t dice;
		random_bytes(&dice, sizeof(dice));
		buf_putc(out, of[dice % strlen(of)]);
	}
}

/* Tells the recorder before anybody else has it. */
static void honeytoken_tell(struct honey *h, const struct kind *k, const struct buf *token)
{
	struct err err = ERR_INIT;
	struct hash hash;
	CLEANUP(free_ptr)
	char *name = mem_printf("honeytoken/%s/%s", boxes_name(h->s->boxes, h->box), k->name);
	if (record_honeytoken(h->s->record, name, token->data, token->len, &err) < 0)
		super_warn(h->s, NULL, "%s", err.text);
	hash_of(token->data, token->len, &hash);
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	hex_append(&hex, hash.b, HASH_LEN);
	json_t *o = json_object();
	json_put_str(o, "token", name);
	json_put_str(o, "at", k->path ? k->path : "DEPLOY_TOKEN");
	json_put_str(o, "hash", hex.data);
	json_array_append_new(h->planted, o);
}

static void honeytoken_write_text(struct honey *h, const struct kind *k, struct buf *out)
{
	size_t nr = 0;
	for (const char *c = k->text; *c; c++) {
		if (*c != '%') {
			buf_putc(out, *c);
			continue;
		}
		CLEANUP(secret_wipe_buf) struct buf token = BUF_INIT;
		make_token(k->token[nr++], &token);
		honeytoken_tell(h, k, &token);
		buf_append(out, token.data, token.len);
	}
}

struct honey *honeytoken_new(struct super *s, uint64_t box, const json_t *names)
{
	if (!json_array_size(names))
		return NULL;
	struct honey *h = NEW(struct honey);
	h->s = s;
	h->box = box;
	h->planted = json_array();
	for (size_t i = 0; i < ARRAY_LEN(honeytoken_kinds); i++) {
		bool wanted = false;
		for (size_t n = 0; n < json_array_size(names); n++)
			wanted |= kind_find(json_string_value(json_array_get(names, n))) ==
				  &honeytoken_kinds[i];
		if (!wanted)
			continue;
		CLEANUP(secret_wipe_buf) struct buf text = BUF_INIT;
		honeytoken_write_text(h, &honeytoken_kinds[i], &text);
		if (!honeytoken_kinds[i].path && !boxes_env(s->boxes, box, text.data)) {
			super_warn(
				s, NULL,
				"sandbox '%s' has its own DEPLOY_TOKEN: the honeytoken was not planted",
				boxes_name(s->boxes, box));
			json_array_remove(h->planted, json_array_size(h->planted) - 1);
		}
		if (honeytoken_kinds[i].path) {
			h->file[h->nr_files++] = (struct file){ honeytoken_kinds[i].path, text };
			text = BUF_INIT;
		}
	}
	return h;
}

static void honey_free(struct honey *h)
{
	for (size_t i = 0; i < h->nr_files; i++)
		secret_wipe_buf(&h->file[i].text);
	json_decref(h->planted);
	free(h);
}

void honeytoken_forget(struct honey **hp)
{
	struct honey *h = take(hp);
	if (h && h->writing)
		h->dead = true;
	else if (h)
		honey_free(h);
}

static void write_next(struct honey *h);

static void honeytoken_on_written(void *self, json_t *result, const struct err *err)
{
	struct honey *h = self;
	(void)result;
	if (h->dead) {
		honey_free(h);
		return;
	}
	if (err)
		super_warn(h->s, NULL, "can't plant honeytoken %s in sandbox '%s': %s",
			   h->file[h->written].path, boxes_name(h->s->boxes, h->box), err->text);
	h->written++;
	write_next(h);
}

static void honeytoken_finish(struct honey *h)
{
	struct super *s = h->s;
	uint64_t box = h->box;
	void (*done)(struct super * s, uint64_t box) = h->done;
	json_t *body = json_object();
	json_put(body, "tokens", json_incref(h->planted));
	record_append_json(s->record, EV_HONEYTOKEN_PLANTED, box, 0, box, 0, body);
	honey_free(h);
	done(s, box);
	boxes_hold_answer(s->boxes, box, false);
}

static void write_next(struct honey *h)
{
	if (h->written == h->nr_files) {
		honeytoken_finish(h);
		return;
	}
	const struct file *f = &h->file[h->written];
	h->open->driver->write(h->open, f->path, f->text.data, f->text.len, 0600,
			       honeytoken_on_written, h);
}

void honeytoken_plant(struct honey *h, struct box *b, void (*done)(struct super *s, uint64_t box))
{
	h->open = b;
	h->done = done;
	h->writing = true;
	boxes_hold_answer(h->s->boxes, h->box, true);
	write_next(h);
}

#include "sessions/merge_trust.h"

#include <stdio.h>
#include <string.h>

#include "record/key.h"
#include "record/read/verify.h"

struct trust_check {
	char first[400]; /* what is damaged */
};

static void trust_report(void *self, const char *name, enum verify_result result, const char *text,
			 uint64_t seq)
{
	struct trust_check *c = self;
	(void)seq;
	/* these two are about what was done, the others about whether the recording can be
	 * believed */
	if (result == VERIFY_FAIL && strcmp(name, "order") != 0 && strcmp(name, "closed") != 0 &&
	    !c->first[0])
		snprintf(c->first, sizeof(c->first), "%s: %s", name, text);
}

/* The key that must have signed: NULL for the user's own. */
static int trust_key(struct cmd_ctx *ctx, struct session *s, uint8_t key[SIGN_KEY_LEN],
		     const uint8_t **out, struct err *err)
{
	uint8_t seed[SIGN_SEED_LEN], own[SIGN_KEY_LEN];
	const char *hex = cmd_opt(ctx, "trust-key");
	CLEANUP(buf_release) struct buf named = BUF_INIT;
	*out = NULL;
	if (hex && !hex_parse(hex, strlen(hex), key, SIGN_KEY_LEN))
		return err_set(err, ERR_USAGE,
			       "--trust-key: expected %d hexadecimal digits, got '%s'",
			       2 * SIGN_KEY_LEN, hex);
	if (hex)
		*out = key;
	if (hex && !memcmp(key, session_key(s), SIGN_KEY_LEN))
		return 0;
	if (key_load(seed, err) < 0)
		return -1;
	sign_key(seed, own);
	hex_append(&named, session_key(s), SIGN_KEY_LEN);
	if (!hex && !memcmp(own, session_key(s), SIGN_KEY_LEN))
		return 0;
	return err_set(
		err, ERR_DENIED,
		"session %s was recorded with another key than yours\nIf you trust its owner, add --trust-key %s.",
		session_id(s), named.data);
}

int merge_trust(struct cmd_ctx *ctx, struct session *s, struct err *err)
{
	struct trust_check check = { 0 };
	struct verify_totals totals;
	uint8_t key[SIGN_KEY_LEN];
	struct verify_opts o = { 0 };
	if (trust_key(ctx, s, key, &o.key, err) < 0 ||
	    verify_session(s, &o, trust_report, &check, &totals, err) < 0)
		return -1;
	if (check.first[0])
		return err_set(
			err, ERR_DAMAGED,
			"the recording of session %s is damaged: %s\n'sandglass verify %s' shows where.",
			session_id(s), check.first, session_id(s));
	return 0;
}

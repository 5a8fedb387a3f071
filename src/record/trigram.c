#include "record/trigram.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

typedef int token_fn(void *self, int flags, const char *token, int len, int start, int end);

/* SQLite's own. */
struct plain {
	fts5_tokenizer ops;
	void *self;
};

enum { LETTERS = 1 << 7, BITS = 64 };

struct trigrams {
	const struct plain *plain;
	Fts5Tokenizer *tokenizer;
	/* trigrams of ASCII of this text: a bit for each */
	uint64_t given[LETTERS * LETTERS * LETTERS / BITS];
	struct buf touched; /* words of it that are not 0 */
	token_fn *fn;
	void *fn_self;
};

/* True the first time. */
static bool is_new_key(struct trigrams *t, uint32_t key)
{
	uint32_t word = key / BITS;
	uint64_t bit = (uint64_t)1 << key % BITS;
	if (t->given[word] & bit)
		return false;
	if (!t->given[word])
		buf_append(&t->touched, &word, sizeof(word));
	t->given[word] |= bit;
	return true;
}

static bool is_new(struct trigrams *t, const char token[3])
{
	return is_new_key(t,
			  (uint32_t)token[0] << 14 | (uint32_t)token[1] << 7 | (uint32_t)token[2]);
}

static void trigram_forget(struct trigrams *t)
{
	for (size_t i = 0; i < t->touched.len; i += sizeof(uint32_t)) {
		uint32_t word;
		memcpy(&word, t->touched.data + i, sizeof(word));
		t->given[word] = 0;
	}
	buf_reset(&t->touched);
}

static bool trigram_is_ascii(const char *text, int len)
{
	int i = 0;
	while (i < len && text[i] && (uint8_t)text[i] < LETTERS)
		i++;
	return i == len;
}

static char trigram_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The key goes along the text, seven bits a character: nearly all of them are there already. */
static int trigram_ascii(struct trigrams *t, const char *text, int len)
{
	int rc = SQLITE_OK;
	uint32_t key = 0;
	for (int i = 0; rc == SQLITE_OK && i < len; i++) {
		key = (key << 7 | (uint8_t)trigram_lower(text[i])) & ((1u << 21) - 1);
		if (i < 2 || !is_new_key(t, key))
			continue;
		const char token[3] = { (char)(key >> 14), (char)(key >> 7 & 0x7f),
					(char)(key & 0x7f) };
		rc = t->fn(t->fn_self, 0, token, 3, i - 2, i + 1);
	}
	return rc;
}

static int trigram_once(void *self, int flags, const char *token, int len, int start, int end)
{
	struct trigrams *t = self;
	if (len == 3 && trigram_is_ascii(token, len) && !is_new(t, token))
		return SQLITE_OK;
	return t->fn(t->fn_self, flags, token, len, start, end);
}

static int trigram_tokenize(Fts5Tokenizer *self, void *ctx, int flags, const char *text, int len,
			    token_fn *fn)
{
	struct trigrams *t = (struct trigrams *)(void *)self;
	const fts5_tokenizer *plain = &t->plain->ops;
	if (!(flags & FTS5_TOKENIZE_DOCUMENT)) /* of a phrase that is looked for, each counts */
		return plain->xTokenize(t->tokenizer, ctx, flags, text, len, fn);
	t->fn = fn;
	t->fn_self = ctx;
	int rc = trigram_is_ascii(text, len)
			 ? trigram_ascii(t, text, len)
			 : plain->xTokenize(t->tokenizer, t, flags, text, len, trigram_once);
	trigram_forget(t);
	return rc;
}

static void trigram_delete(Fts5Tokenizer *self)
{
	struct trigrams *t = (struct trigrams *)(void *)self;
	if (t->tokenizer)
		t->plain->ops.xDelete(t->tokenizer);
	buf_release(&t->touched);
	free(t);
}

static int trigram_create(void *self, const char **argv, int argc, Fts5Tokenizer **out)
{
	struct trigrams *t = NEW(struct trigrams);
	t->plain = self;
	int rc = t->plain->ops.xCreate(t->plain->self, argv, argc, &t->tokenizer);
	if (rc == SQLITE_OK)
		*out = (Fts5Tokenizer *)(void *)t;
	else
		trigram_delete((Fts5Tokenizer *)(void *)t);
	return rc;
}

static fts5_api *api_of(sqlite3 *db)
{
	fts5_api *api = NULL;
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_pointer(st, 1, &api, "fts5_api_ptr", NULL);
		sqlite3_step(st);
	}
	sqlite3_finalize(st);
	return api;
}

int trigram_register(sqlite3 *db)
{
	fts5_tokenizer mine = { trigram_create, trigram_delete, trigram_tokenize };
	struct plain *plain = NEW(struct plain);
	fts5_api *api = api_of(db);
	int rc =
		api ? api->xFindTokenizer(api, "trigram", &plain->self, &plain->ops) : SQLITE_ERROR;
	if (rc != SQLITE_OK) {
		free(plain);
		return rc;
	}
	/* the newer one of a name counts */
	return api->xCreateTokenizer(api, "trigram", plain, &mine, free);
}

#include "http/grpc.h"

#include <stdlib.h>

enum { HEAD = 5, VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 };

struct span {
	uint8_t *at;
	size_t left;
};

struct seeker {
	grpc_field_fn *fn;
	void *self;
};

static bool grpc_skip(struct span *s, uint64_t n)
{
	if (n > s->left)
		return false;
	s->at += n;
	s->left -= n;
	return true;
}

static bool grpc_varint(struct span *s, uint64_t *out)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64 && s->left; shift += 7) {
		uint8_t b = *s->at;
		grpc_skip(s, 1);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

static bool each_in_message(struct span m, const char *path, const struct seeker *k)
{
	char *rest;
	uint64_t wanted = strtoul(path, &rest, 10), key, n = 0;
	if (!wanted || (*rest && *rest != '.'))
		return false;
	while (m.left) {
		if (!grpc_varint(&m, &key))
			return false;
		switch (key & 7) {
		case VARINT:
			if (!grpc_varint(&m, &n))
				return false;
			continue;
		case EIGHT_BYTES:
		case FOUR_BYTES:
			if (!grpc_skip(&m, (key & 7) == EIGHT_BYTES ? 8 : 4))
				return false;
			continue;
		case BYTES:
			break;
		default:
			return false;
		}
		struct span field = m;
		if (!grpc_varint(&field, &n) || n > field.left)
			return false;
		m = field;
		field.left = n;
		grpc_skip(&m, n);
		if (key >> 3 != wanted)
			continue;
		if (!*rest)
			k->fn(k->self, field.at, field.left);
		else if (!each_in_message(field, rest + 1, k))
			return false;
	}
	return true;
}

bool grpc_each_field(uint8_t *body, size_t len, const char *path, grpc_field_fn *fn, void *self)
{
	const struct seeker k = { fn, self };
	struct span s = { body, len };
	while (s.left) {
		if (s.left < HEAD || s.at[0] != 0)
			return false;
		size_t n = (size_t)s.at[1] << 24 | (size_t)s.at[2] << 16 | (size_t)s.at[3] << 8 |
			   s.at[4];
		grpc_skip(&s, HEAD);
		struct span message = { s.at, n };
		if (!grpc_skip(&s, n) || !each_in_message(message, path, &k))
			return false;
	}
	return true;
}

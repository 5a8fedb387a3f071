/* The plan of an apply: a valid plan is read back as written, and an invalid plan is refused. */
#include "base/mem.h"
#include "tap.h"
#include "wire/plan.h"

static bool refused(const struct plan_op *op, size_t nr_fds)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct plan_op got;
	struct err err = ERR_INIT;
	size_t pos = 0;
	plan_begin(&b);
	plan_add(&b, op);
	return plan_next(b.data, b.len, &pos, nr_fds, &got, &err) == -1 && err.code == ERR_PARSE;
}

static void round_trip(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct plan_op got = { 0 };
	struct err err = ERR_INIT;
	size_t pos = 0;
	plan_begin(&b);
	plan_add(&b, &(struct plan_op){ .kind = PLAN_FILE,
					.mode = 0755,
					.fd = 2,
					.off = 1ULL << 40,
					.len = 7,
					.path = "a/b\n\xff",
					.path_len = 5 });
	plan_add(&b, &(struct plan_op){
			     .kind = PLAN_SYMLINK, .path = "l", .path_len = 1, .target = "../../x", .target_len = 7 });
	is_int(plan_next(b.data, b.len, &pos, 3, &got, &err), 1, "the first operation");
	ok(got.kind == PLAN_FILE && got.mode == 0755 && got.fd == 2 && got.off == 1ULL << 40 && got.len == 7,
	   "has its numbers");
	ok(got.path_len == 5 && memcmp(got.path, "a/b\n\xff", 5) == 0, "and its path, byte for byte");
	is_int(plan_next(b.data, b.len, &pos, 3, &got, &err), 1, "the second");
	ok(got.target_len == 7 && memcmp(got.target, "../../x", 7) == 0, "a link may point anywhere");
	is_int(plan_next(b.data, b.len, &pos, 3, &got, &err), 0, "then the end");
	int cut = 0;
	for (size_t len = 0; len < b.len; len++) {
		int rc = 1;
		for (pos = 0; rc == 1;)
			rc = plan_next(b.data, len, &pos, 3, &got, &err);
		cut += rc == 0;
	}
	is_int(cut, 2, "cut off anywhere but between operations it is an error");
}

static void rules(void)
{
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "./a" };
	static const char *const good[] = { "a", "a/b", "...", ".git", "a/..b", " ", "a\nb" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!plan_path_ok(bad[i], strlen(bad[i])), "'%s' is not a path", bad[i]);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(plan_path_ok(good[i], strlen(good[i])), "'%s' is a path", good[i]);
	ok(!plan_path_ok("a\0b", 3), "a NUL is not allowed in a path");
	ok(refused(&(struct plan_op){ .kind = PLAN_FILE, .path = "a", .path_len = 1, .fd = 1 }, 1),
	   "a descriptor too many");
	ok(refused(&(struct plan_op){ .kind = PLAN_CHMOD, .path = "a", .path_len = 1, .mode = 04755 }, 0),
	   "a set-uid bit");
	ok(refused(&(struct plan_op){ .kind = PLAN_CHMOD, .path = "a", .path_len = 1, .mode = 02755 }, 0),
	   "a set-gid bit");
	ok(refused(&(struct plan_op){ .kind = (enum plan_kind)99, .path = "a", .path_len = 1 }, 0),
	   "an unknown operation");
	ok(refused(&(struct plan_op){ .kind = PLAN_TIME, .path = "a", .path_len = 1, .off = 1ULL << 63 }, 0), "a time that none is");
	ok(refused(&(struct plan_op){ .kind = PLAN_SYMLINK, .path = "a", .path_len = 1 }, 0),
	   "a link without a target");
	ok(refused(
		   &(struct plan_op){
			   .kind = PLAN_LINK, .path = "a", .path_len = 1, .target = "../b", .target_len = 4 },
		   0),
	   "a hard link out");
}

int main(void)
{
	round_trip();
	rules();
	return done_testing();
}

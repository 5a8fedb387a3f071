/* The options of a box: what box.open says of them opens the same box again. Every byte of struct box_opts is set here, so
 * that an option that the table does not know shows. */
#include "../tap.h"

#include <string.h>

#include "sandbox/effect.h"

static const char *const some[] = { "a", "b \xff c", "", NULL };
static const struct box_repo repo[] = { { "api", "/srv/api" }, { "web", "/srv/w\xe9 b" } };

static struct box_opts full(json_t *driver)
{
	return (struct box_opts){
		.name = "fix",
		.state_dir = "/var/x",
		.repo = repo,
		.nr_repos = 2,
		.expose = some,
		.nr_expose = 3,
		.roots = some + 1,
		.nr_roots = 2,
		.limits = { .mem_bytes = 1LL << 40, .disk_bytes = 2, .cpu_milli = 3, .pids = 4, .wall_us = 5 },
		.net = true,
		.host = some,
		.nr_hosts = 1,
		.keep = true,
		.accept_reduced = true,
		.env = some,
		.driver = driver,
	};
}

static bool same_list(const char *const *a, size_t nr_a, const char *const *b, size_t nr_b)
{
	bool same = nr_a == nr_b;
	for (size_t i = 0; same && i < nr_a; i++)
		same = !strcmp(a[i], b[i]);
	return same;
}

static void compare(const struct box_opts *a, const struct box_opts *b)
{
	ok(!memcmp(&a->limits, &b->limits, sizeof(a->limits)), "limits");
	ok(same_list(a->expose, a->nr_expose, b->expose, b->nr_expose), "expose");
	ok(same_list(a->roots, a->nr_roots, b->roots, b->nr_roots), "tool roots");
	ok(same_list(a->host, a->nr_hosts, b->host, b->nr_hosts), "the hosts of net");
	ok(same_list(a->env, 3, b->env, 3) && !b->env[3], "environment, bytes and empty ones");
	ok(a->nr_repos == b->nr_repos && !strcmp(a->repo[1].name, b->repo[1].name) &&
		   !strcmp(a->repo[1].host_dir, b->repo[1].host_dir), "repositories");
	ok(a->net == b->net && a->keep == b->keep && a->accept_reduced == b->accept_reduced, "flags");
	ok(json_equal(a->driver, b->driver), "options of the driver");
}

int main(void)
{
	CLEANUP(json_release) json_t *driver = json_pack("{s:i}", "depth", 3), *body = json_object(), *again = json_object();
	struct box_opts o = full(driver);
	struct owned_opts back;
	box_opts_put(body, &o);
	box_opts_get(&back, body);
	compare(&o, &back.o);
	box_opts_put(again, &back.o);
	ok(json_equal(body, again), "written again it is the same");
	box_opts_free(&back);
	box_opts_copy(&back, &o);
	compare(&o, &back.o);
	is_str(back.o.name, "fix", "a copy has the name");
	is_str(back.o.state_dir, "/var/x", "and the folder");
	box_opts_free(&back);

	CLEANUP(json_release) json_t *none = json_object();
	box_opts_get(&back, none);
	ok(!back.o.net && !back.o.nr_repos && !back.o.env && !back.o.driver, "an old body says nothing: no net, no repository");
	box_opts_free(&back);
	return done_testing();
}

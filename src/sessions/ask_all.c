#include "sessions/ask_all.h"

#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/client.h"
#include "control/share.h"

enum { ALL_MS = 500, THREADS = 64, STACK = 512 << 10 };

struct asking {
	struct asked *a;
	size_t nr;
	atomic_size_t next;
	int64_t until_us;
	const char *name; /* who we say we are: looking it up is not for threads */
};

static void ask_all_ask(const struct asking *all, struct asked *a)
{
	struct control_client *c;
	struct err err = ERR_INIT;
	int64_t left_ms = (all->until_us - clock_mono_us()) / 1000;
	struct control_client_opts o = { .watch = true,
					 .name = all->name,
					 .timeout_ms = (int)left_ms };
	CLEANUP(free_ptr) char *path = share_find(a->file->id, a->file->path);
	if (left_ms <= 0 || control_client_open(&c, path, &o, NULL, NULL, &err) < 0)
		return;
	a->welcome = json_incref((json_t *)(uintptr_t)control_client_welcome(c));
	control_client_free(&c);
}

static void *ask_all_work(void *self)
{
	struct asking *all = self;
	for (size_t i; (i = atomic_fetch_add(&all->next, 1)) < all->nr;)
		ask_all_ask(all, &all->a[i]);
	return NULL;
}

void ask_all(struct asked *a, size_t nr)
{
	CLEANUP(free_ptr) char *name = share_own_name();
	struct asking all = {
		.a = a, .nr = nr, .until_us = clock_mono_us() + ALL_MS * 1000, .name = name
	};
	pthread_t thread[THREADS];
	pthread_attr_t attr;
	size_t began = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	while (nr > 1 && began < nr && began < THREADS &&
	       pthread_create(&thread[began], &attr, ask_all_work, &all) == 0)
		began++;
	pthread_attr_destroy(&attr);
	if (began == 0)
		ask_all_work(&all);
	while (began > 0)
		pthread_join(thread[--began], NULL);
}

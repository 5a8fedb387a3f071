/* The system call filters of commands where no bubblewrap has installed them: in a container, a
 * machine, and on a machine elsewhere. The supervisor sends the programs, the same that a process
 * sandbox gets, so that the guest needs no compiler of filters and no second list of calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>

#include "base/mem.h"
#include "guest/guest_priv.h"
#include "guest/sys.h"

enum { ACTION_AVAILABLE = 2 }; /* SECCOMP_GET_ACTION_AVAIL */

static bool has_filters(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;
	return sys3(SYS_seccomp, ACTION_AVAILABLE, 0, &action) == 0;
}

int inner_filters_take(struct inner_rules *r, const struct guest_attach_body *a)
{
	_Static_assert(sizeof(struct sock_filter) == GUEST_FILTER_STEP, "as on the wire");
	if (!a->nr_filters)
		return 0;
	if (!has_filters()) {
		errno = EOPNOTSUPP;
		return a->flags & GUEST_UNCONFINED_OK ? 0 : -1;
	}
	for (size_t i = 0; i < a->nr_filters; i++) {
		const struct guest_filter *f = &a->filters[i];
		struct sock_filter *code = mem_calloc(f->steps, sizeof *code);
		memcpy(code, f->code, f->steps * sizeof *code);
		r->filters[r->nr_filters++] =
			(struct sock_fprog){ .len = f->steps, .filter = code };
	}
	return 0;
}

void inner_filters_drop(struct inner_rules *r)
{
	for (size_t i = 0; i < r->nr_filters; i++)
		free(r->filters[i].filter);
	r->nr_filters = 0;
}

long inner_filters_enter(const struct inner_rules *r)
{
	long rc = 0;
	for (size_t i = 0; i < r->nr_filters && rc == 0; i++)
		rc = sys3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &r->filters[i]);
	return rc;
}

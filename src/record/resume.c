#include "record/inner.h"
#include "record/read/verify.h"

int resume_check(const char *path, struct err *err)
{
	struct session *s;
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = verify_tail(s, err);
	session_close(&s);
	return rc;
}

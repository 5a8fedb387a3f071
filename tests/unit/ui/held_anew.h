/* Writes the fleet fixture with its pending action held once more for other reasons. Include
 * after fake_session.h. */
#include <unistd.h>

#include "base/fd.h"

/* Fills @path (a template of mkstemp); to be removed. @held: the body of the event. */
static void held_anew(const char *held, char path[])
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	CLEANUP(fd_close) int fd = mkstemp(path);
	if (fd < 0 || file_read("tests/screens/fleet.jsonl", &all, 1 << 24, &err) < 0)
		exit(99);
	buf_printf(
		&all,
		"{\"at\":\"262.000\",\"kind\":\"action.held\","
		"\"agent\":18,\"action\":767,\"body\":%s}\n",
		held);
	if (fd_write_all(fd, all.data, all.len, &err) < 0)
		exit(99);
}

/* Writes recordings with a pending action: the fleet fixture's, held once more for other reasons,
 * or one of another kind. Include after fake_session.h. */
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
	buf_printf(&all,
		   "{\"at\":\"262.000\",\"kind\":\"action.held\","
		   "\"agent\":18,\"action\":767,\"body\":%s}\n",
		   held);
	if (fd_write_all(fd, all.data, all.len, &err) < 0)
		exit(99);
}

/* The same with a session of one pending action #3, of @kind; its agent did something after it. */
static void held_kind(const char *kind, char path[])
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf lines = BUF_INIT;
	CLEANUP(fd_close) int fd = mkstemp(path);
	buf_printf(
		&lines,
		"{\"at\":\"0.000\",\"kind\":\"session.start\",\"body\":{\"id\":\"s-000001\"}}\n"
		"{\"at\":\"0.000\",\"kind\":\"agent.start\",\"body\":{\"name\":\"fix\"}}\n"
		"{\"at\":\"1.000\",\"kind\":\"action.requested\",\"agent\":2,"
		"\"body\":{\"kind\":\"%s\",\"tool\":\"%s\",\"intent\":\"ab\"}}\n"
		"{\"at\":\"1.000\",\"kind\":\"action.held\",\"agent\":2,\"action\":3,"
		"\"body\":{\"reasons\":[\"ask\"],\"intent\":\"ab\"}}\n"
		"{\"at\":\"2.000\",\"kind\":\"note\",\"agent\":2,\"body\":{\"text\":\"later\"}}\n",
		kind, kind);
	if (fd < 0 || fd_write_all(fd, lines.data, lines.len, &err) < 0)
		exit(99);
}

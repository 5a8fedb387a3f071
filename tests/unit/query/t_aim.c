#include "query/aim.h"
#include "tap.h"

static void says(const char *requested, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	CLEANUP(json_release) json_t *o = json_loads(requested, 0, NULL);
	ok(action_aim(o, &out) == (want != NULL), "known or not: %s", requested);
	is_str(buf_cstr(&out), want ? want : "", "with this text");
}

int main(void)
{
	says("{\"kind\":\"merge\",\"host_path\":\"/r\",\"args\":{\"branch\":\"b\",\"review\":true}}",
	     "to branch b of /r, hunk by hunk");
	says("{\"kind\":\"merge\",\"host_path\":\"/r\",\"args\":{}}",
	     "to a new branch of /r");
	says("{\"kind\":\"merge\",\"host_path\":\"/r\",\"args\":{\"mode\":\"apply\"}}",
	     "into the files of /r");
	says("{\"kind\":\"merge\",\"host_path\":\"/r\",\"args\":{\"mode\":\"commits\",\"branch\":\"b\"}}",
	     "as commits into /r, branch b");
	says("{\"kind\":\"merge\",\"host_path\":\"/p.patch\",\"args\":{\"mode\":\"patch\"}}",
	     "as the patch /p.patch");
	says("{\"kind\":\"merge\",\"args\":{\"into\":\".\"}}", "to a new branch of .");
	says("{\"kind\":\"merge\",\"args\":7}", "to a new branch of its repository");
	says("{\"kind\":\"merge\",\"host_path\":\"/r\",\"boxes\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
	     "\"args\":{\"branch\":\"x\",\"review\":true}}",
	     "sandboxes a, b to branch x of /r");
	says("{\"kind\":\"merge\",\"args\":{\"branch\":\"x\"},\"boxes\":[{\"name\":\"a\",\"dirs\":[\"/r\"]},"
	     "{\"name\":\"b\",\"dirs\":[\"/s\",\"/r\"]}]}",
	     "sandboxes a, b to branch x of /r, /s");
	says("{\"kind\":\"rollback\",\"tool\":\"redo\",\"args\":{\"redo\":78,\"of\":53}}",
	     "applies the changes of #78");
	says("{\"kind\":\"rollback\",\"args\":{\"to\":53}}", "to #53");
	says("{\"kind\":\"rollback\",\"args\":{\"to\":\"before\"}}", "to 'before'");
	says("{\"kind\":\"rollback\",\"args\":{}}", NULL);
	says("{\"kind\":\"exec\",\"argv\":[\"make\"]}", NULL);
	return done_testing();
}

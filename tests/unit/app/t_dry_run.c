/* The network counters that a dry run reads, and the texts for its end and for the end of a repeat. */
#include "tap.h"

#include "phrase/describe.h"
#include "supervisor/trial/dry_run_priv.h"

static const char counters[] = "tmp=2\n"
			       "Ip: Forwarding DefaultTTL OutNoRoutes\n"
			       "Ip: 2 64 7\n"
			       "Tcp: RtoAlgorithm AttemptFails EstabResets\n"
			       "Tcp: 1 3 0\n"
			       "Udp: InDatagrams NoPorts\n"
			       "Udp: 0 4\n"
			       "Ip6OutNoRoutes                  \t5\n";

static void told(const char *text, void (*fn)(const json_t *, struct buf *), struct buf *out)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *o = json_parse(text, strlen(text), "test", &err);
	buf_reset(out);
	fn(o, out);
}

int main(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	is_int(dry_run_counter(counters, "Ip", "OutNoRoutes"), 7, "a column of a table");
	is_int(dry_run_counter(counters, "Tcp", "AttemptFails"), 3, "of another one");
	is_int(dry_run_counter(counters, "Udp", "NoPorts"), 4, "the last column");
	is_int(dry_run_counter(counters, "Udp", "Gone"), 0, "a column that is not there");
	is_int(dry_run_counter(counters, "", "Ip6OutNoRoutes"), 5, "a line of snmp6");
	is_int(dry_run_counter("", "Ip", "OutNoRoutes"), 0, "nothing");
	is_int(dry_run_counter("Ip: OutNoRoutes", "Ip", "OutNoRoutes"), 0, "cut off in the middle");
	told("{\"end\":\"ok\",\"code\":3,\"dur_us\":15000,\"files\":[{\"op\":\"M\",\"path\":\"a\"}],\"added\":2,\"removed\":1,"
	     "\"net\":{\"refused\":1,\"hosts\":[{\"host\":\"h.example\",\"port\":443}]},\"incomplete\":[\"network\"]}",
	     describe_preview, &b);
	is_str(buf_cstr(&b),
	       "exit 3 after 0.015 s, 1 file +2 -1; incomplete: it tried to use the network: h.example:443; connections refused: 1",
	       "a dry run in one line");
	told("{\"end\":\"failed\",\"why\":\"no box\"}", describe_preview, &b);
	is_str(buf_cstr(&b), "failed: no box", "a failed dry run");
	told("{\"origin\":{\"session\":\"s-a\",\"action\":4},\"action\":9,\"same\":false,\"stdout\":{\"same\":false,\"line\":2,"
	     "\"offset\":5,\"was_bytes\":8,\"now_bytes\":9}}",
	     describe_redo, &b);
	is_str(buf_cstr(&b),
	       "s-a#4 repeated as #9: DIFFERS\n  stdout  differs from line 2 on (byte 5 of 8, now of 9)",
	       "a repeat that differs");
	return done_testing();
}

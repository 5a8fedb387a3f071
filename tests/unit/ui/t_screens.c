/* Golden screens: each row of the table is drawn over its fixture and compared with tests/screens/NAME.txt (glyphs,
 * then role letters). GOLDEN=1 in the environment writes the files anew; the difference is for a user to look at. */
#include <sqlite3.h>

#include "fake_browse.h"
#include "fake_session.h"
#include "fake_waivers.h"
#include "tap.h"
#include <fcntl.h>
#include <unistd.h>
#include "ui/frame/claimed.h"
#include "ui/frame/coach.h"
#include "ui/term/term.h"
#include "ui/frame/ui.h"
#include "ui/frame/verifying.h"

static const struct {
	const char *name, *fixture;
	int cols, rows;
	bool ascii;
	const char *view;
	uint64_t limit;
	const char *keys; /* pressed after the view is open, a second later */
} cases[] = {
	{ "fleet-120x36", "fleet", 120, 36, false, "fleet", 0, "" },
	{ "fleet-80x24", "fleet", 80, 24, false, "fleet", 0, "" },
	{ "fleet-80x24-work", "fleet", 80, 24, false, "fleet", 0, "\t" },
	{ "fleet-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "j" },
	{ "fleet-50x10", "fleet", 50, 10, false, "fleet", 0, "" },
	{ "fleet-40x8", "fleet", 40, 8, false, "fleet", 0, "" },
	{ "fleet-20x3-ascii", "fleet", 20, 3, true, "fleet", 0, "" },
	{ "fleet-1x1", "fleet", 1, 1, false, "fleet", 0, "" },
	{ "wide-fleet-30x6", "wide", 30, 6, false, "fleet", 0, "" },
	{ "agent-120x36", "fleet", 120, 36, false, "agent", 0, "" },
	{ "agent-80x24", "fleet", 80, 24, false, "agent", 0, "" },
	{ "agent-alone-120x36", "fleet", 120, 36, false, "agent", 0, "o+" },
	{ "fleet-alone-120x36", "fleet", 120, 36, false, "fleet", 0, "\t+" },
	{ "agent-output-80x24", "fleet", 80, 24, false, "agent", 0, "koo" },
	{ "agent-talk-120x36", "fleet", 120, 36, false, "agent", 0, "t" },
	{ "agent-details-120x36", "fleet", 120, 36, false, "agent", 0, "v" },
	{ "select-talk-120x36", "fleet", 120, 36, false, "agent", 0, "tvjjj" },
	{ "select-diff-80x24", "fleet", 80, 24, false, "diff", 0, "vjj" },
	{ "select-log-80x24-ascii", "fleet", 80, 24, true, "log", 0, "vkk" },
	{ "verify-120x36", "fleet", 120, 36, false, "fleet", 0, "C" },
	{ "verify-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "Cjjjjjjjj" },
	{ "verify-80x24", "fleet", 80, 24, false, "fleet", 0, "C" },
	{ "wide-verify-80x24", "wide", 80, 24, false, "fleet", 0, "C" },
	{ "hostile-output-120x36", "hostile", 120, 36, false, "agent", 0, "ko" },
	{ "hostile-render-80x24", "hostile", 80, 24, false, "agent", 0, "koo" },
	{ "hostile-pty-120x36", "hostile", 120, 36, false, "agent", 0, "o" },
	{ "hostile-pty-80x24", "hostile", 80, 24, true, "agent", 0, "o" },
	{ "hostile-bytes-120x36", "hostile", 120, 36, false, "agent", 0, "oo" },
	{ "approval-120x36", "fleet", 120, 36, false, "approval", 0, "" },
	{ "approval-80x24", "fleet", 80, 24, false, "approval", 0, "" },
	{ "watch-approval-80x24", "fleet", 80, 24, false, "approval", 0, "" },
	{ "approval-80x24-ascii", "fleet", 80, 24, true, "approval", 0, "" },
	{ "question-120x36", "asks", 120, 36, false, "question", 0, "" },
	{ "question-80x24-ascii", "asks", 80, 24, true, "question", 0, "" },
	{ "question-wide-80x24", "asks", 80, 24, false, "queue", 0, "j\n" },
	{ "decide-question-form-80x24", "asks", 80, 24, false, "queue", 0, "jj\n" },
	{ "decide-question-field-120x36", "asks", 120, 36, false, "queue", 0, "jj\n \n\nann" },
	{ "queue-asks-120x36", "asks", 120, 36, false, "queue", 0, "" },
	{ "queue-120x36", "fleet", 120, 36, false, "queue", 0, "" },
	{ "diff-120x36", "fleet", 120, 36, false, "diff", 0, "" },
	{ "diff-80x24", "fleet", 80, 24, false, "diff", 0, "" },
	{ "log-120x36", "fleet", 120, 36, false, "log", 0, "" },
	{ "filter-none-80x24", "fleet", 80, 24, false, "fleet", 0, "fagent:nobody\n" },
	{ "help-120x36", "fleet", 120, 36, false, "fleet", 0, "?" },
	{ "help-80x24", "fleet", 80, 24, false, "agent", 0, "?" },
	{ "help-search-80x24", "fleet", 80, 24, false, "fleet", 0, "?/palette\n" },
	{ "wide-help-80x24", "wide", 80, 24, false, "log", 0, "?" },
	{ "help-approval-80x24", "fleet", 80, 24, false, "approval", 0, "?" },
	{ "filter-line-120x36", "fleet", 120, 36, false, "fleet", 0, "Lfkind:exec has:" },
	{ "filter-wrong-80x24", "fleet", 80, 24, false, "fleet", 0, "Lfagent:fix kind:exce" },
	{ "filter-log-120x36", "fleet", 120, 36, false, "fleet", 0, "Lfkind:exec is:error\n" },
	{ "filter-agent-80x24", "fleet", 80, 24, false, "agent", 0, "fkind:exec,edit\n" },
	{ "search-80x24", "fleet", 80, 24, false, "agent", 0, "/make\n" },
	{ "palette-120x36", "fleet", 120, 36, false, "fleet", 0, "\020fix-" },
	{ "palette-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "\020triage" },
	{ "command-120x36", "fleet", 120, 36, false, "fleet", 0, ":approve " },
	{ "command-80x24", "fleet", 80, 24, false, "fleet", 0, ":set theme=l" },
	{ "holds-80x24", "fleet", 80, 24, false, "fleet", 0, ":holds\n" },
	{ "boxes-120x36", "fleet", 120, 36, false, "sandboxes", 0, "" },
	{ "boxes-80x24-ascii", "fleet", 80, 24, true, "sandboxes", 0, "j" },
	{ "boxes-80x24", "fleet", 80, 24, false, "sandboxes", 0, "" },
	{ "jobs-120x36", "fleet", 120, 36, false, "jobs", 0, "" },
	{ "jobs-80x24", "fleet", 80, 24, false, "jobs", 0, "" },
	{ "jobs-80x24-ascii", "fleet", 80, 24, true, "jobs", 0, "j" },
	{ "jobs-redo-120x36", "redo", 120, 36, false, "jobs", 16, "" },
	{ "wide-jobs-80x24", "wide", 80, 24, false, "jobs", 0, "" },
	{ "wide-boxes-80x24", "wide", 80, 24, false, "sandboxes", 0, "" },
	{ "handover-80x24-ascii", "fleet", 80, 24, true, "handoff", 0, "" },
	{ "wide-handover-80x24", "wide", 80, 24, false, "handoff", 0, "" },
	{ "palette-120x36-ascii", "fleet", 120, 36, true, "fleet", 0, "\020fix-" },
	{ "wide-holds-80x24", "wide", 80, 24, false, "fleet", 0, ":holds\n" },
	{ "handover-120x36", "fleet", 120, 36, false, "handoff", 0, "" },
	{ "handover-80x24", "fleet", 80, 24, false, "handoff", 0, "" },
	{ "fleet-group-120x36", "fleet", 120, 36, false, "fleet", 0, ":group\n" },
	{ "fleet-folded-80x24", "fleet", 80, 24, false, "fleet", 0, ":group\nj " },
	{ "wide-fleet-120x36", "wide", 120, 36, false, "fleet", 0, "" },
	{ "wide-agent-120x36", "wide", 120, 36, false, "agent", 0, "kkkko" },
	{ "wide-approval-120x36", "wide", 120, 36, false, "approval", 0, "" },
	{ "wide-approval-80x24-ascii", "wide", 80, 24, true, "approval", 0, "" },
	{ "wide-diff-80x24", "wide", 80, 24, false, "diff", 0, "j" },
	{ "agent-80x24-ascii", "fleet", 80, 24, true, "agent", 0, "" },
	{ "agent-details-80x24", "fleet", 80, 24, false, "agent", 0, "v" },
	{ "agent-talk-80x24-ascii", "fleet", 80, 24, true, "agent", 0, "t" },
	{ "queue-80x24", "fleet", 80, 24, false, "queue", 0, "" },
	{ "queue-80x24-ascii", "fleet", 80, 24, true, "queue", 0, "" },
	{ "diff-80x24-ascii", "fleet", 80, 24, true, "diff", 0, "j" },
	{ "log-80x24", "fleet", 80, 24, false, "log", 0, "" },
	{ "log-80x24-ascii", "fleet", 80, 24, true, "log", 0, "k" },
	{ "help-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "?" },
	{ "holds-120x36", "fleet", 120, 36, false, "fleet", 0, ":holds\n" },
	{ "holds-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, ":holds\n" },
	{ "palette-80x24", "fleet", 80, 24, false, "fleet", 0, "\020fix-" },
	{ "search-120x36", "fleet", 120, 36, false, "agent", 0, "/make\n" },
	{ "filter-log-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "Lfkind:exec is:error\n" },
	{ "wide-filter-80x24", "wide", 80, 24, false, "log", 0, "fkind:exec\n" },
	{ "search-80x24-ascii", "fleet", 80, 24, true, "agent", 0, "/make\n" },
	{ "command-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, ":approve " },
	{ "wide-command-80x24", "wide", 80, 24, false, "fleet", 0, ":approve " },
	{ "plot-120x36", "fleet", 120, 36, false, "fleet", 0, ":plot cost\n" },
	{ "plot-80x24", "fleet", 80, 24, false, "fleet", 0, ":plot tokens\njhhhhhhhh" },
	{ "plot-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, ":plot actions\n" },
	{ "help-plot-80x24", "fleet", 80, 24, false, "plot", 0,
	  "?hhhhhhhh" }, /* a key of its own, from its help */
	{ "replay-fleet-120x36", "fleet", 120, 36, false, "fleet", 0, "50%" },
	{ "replay-fleet-80x24", "fleet", 80, 24, false, "fleet", 0, "]a>>" },
	{ "replay-queue-120x36", "fleet", 120, 36, false, "queue", 0, "" },
	{ "replay-fork-80x24", "fleet", 80, 24, false, "agent", 0, "400Gb" },
	{ "replay-agent-80x24-ascii", "fleet", 80, 24, true, "agent", 0, "400G{x " },
	{ "replay-agent-120x36", "fleet", 120, 36, false, "agent", 0, "]e]ema:ruler cost\n" },
	{ "replay-fleet-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "70%mq{{" },
	{ "replay-fleet-120x36-ascii", "fleet", 120, 36, true, "fleet", 0,
	  "300Gmm:ruler tokens\n" },
	{ "replay-marks-120x36", "fleet", 120, 36, false, "fleet", 0,
	  "300Gma]em\nwhy does it fail?\n:bookmarks\nj" },
	{ "replay-marks-80x24-ascii", "fleet", 80, 24, true, "fleet", 0,
	  "300Gma]em\nwhy does it fail?\n:bookmarks\nD" },
	{ "replay-marks-80x24", "fleet", 80, 24, false, "fleet", 0,
	  "300Gma]em\nwhy does it fail?\n:bookmarks\nj" },
	{ "replay-wide-marks-120x36", "wide", 120, 36, false, "fleet", 0,
	  "ma]am\nwhy?\n:bookmarks\n" },
	{ "replay-diff-120x36", "fleet", 120, 36, false, "agent", 0, ":diff 600 760\n" },
	{ "replay-diff-80x24-ascii", "fleet", 80, 24, true, "agent", 0, "600Gma760G:diff a\n" },
	{ "replay-plot-120x36", "fleet", 120, 36, false, "fleet", 0, ":seek 300\n:plot output\n" },
	{ "wide-fleet-80x24", "wide", 80, 24, false, "fleet", 0, "" },
	{ "wide-agent-80x24-ascii", "wide", 80, 24, true, "agent", 0, "kkkko" },
	{ "wide-queue-120x36", "wide", 120, 36, false, "queue", 0, "" },
	{ "wide-queue-80x24-ascii", "wide", 80, 24, true, "queue", 0, "" },
	{ "wide-diff-120x36", "wide", 120, 36, false, "diff", 0, "" },
	{ "wide-log-120x36", "wide", 120, 36, false, "log", 0, "" },
	{ "wide-log-80x24", "wide", 80, 24, false, "log", 0, "k" },
	{ "wide-approval-80x24", "wide", 80, 24, false, "approval", 0, "" },
	{ "wide-palette-80x24", "wide", 80, 24, false, "fleet", 0, "\020a" },
	{ "wide-search-80x24", "wide", 80, 24, false, "log", 0, "/a\n" },
	{ "wide-plot-80x24", "wide", 80, 24, false, "fleet", 0, ":plot actions\n" },
	{ "redo-120x36", "redo", 120, 36, false, "repeat", 0, "" },
	{ "redo-80x24", "redo", 80, 24, false, "repeat", 0, "" },
	{ "redo-80x24-ascii", "redo", 80, 24, true, "repeat", 0, "\tj" },
	{ "redo-held-120x36", "redo", 120, 36, false, "repeat", 18, "" },
	{ "redo-runs-120x36", "redo", 120, 36, false, "repeat", 21, "" },
	{ "redo-runs-80x24", "redo", 80, 24, false, "repeat", 21, "\t" },
	{ "decide-chosen-120x36", "steer", 120, 36, false, "approval", 0,
	  "jjjNwait for the second run of CI\n" },
	{ "decide-chosen-80x24-ascii", "steer", 80, 24, true, "approval", 0, "jjjj" },
	{ "decide-session-120x36", "steer", 120, 36, false, "approval", 0, "sj" },
	{ "decide-host-120x36", "steer", 120, 36, false, "approval", 0, "sjh" },
	{ "decide-session-80x24", "steer", 80, 24, false, "approval", 0, "sjjua" },
	{ "decide-rule-120x36", "steer", 120, 36, false, "approval", 0, "pj" },
	{ "decide-rule-80x24", "steer", 80, 24, false, "approval", 0, "pjj" },
	{ "decide-rule-60x16", "steer", 60, 16, false, "approval", 0, "pjj" },
	{ "decide-rule-80x24-ascii", "steer", 80, 24, true, "approval", 0, "pjd" },
	{ "decide-pattern-80x24", "steer", 80, 24, false, "approval", 0, "sje*" },
	{ "decide-pattern-wrong-120x36", "steer", 120, 36, false, "approval", 0, "se\x15* push" },
	{ "decide-typed-120x36", "steer", 120, 36, false, "approval", 0, "[ yystag" },
	{ "decide-marked-120x36", "steer", 120, 36, false, "queue", 0, "  " },
	{ "decide-marked-80x24-ascii", "steer", 80, 24, true, "queue", 0, "  y" },
	{ "decide-marked-mixed-120x36", "steer", 120, 36, false, "queue", 0, " j jk" },
	{ "decide-like-120x36", "steer", 120, 36, false, "agent", 0, "B" },
	{ "replay-wide-agent-120x36", "wide", 120, 36, false, "agent", 0, "12G" },
	{ "review-120x36", "review", 120, 36, false, "review", 0, "jj" },
	{ "review-80x24", "review", 80, 24, false, "review", 0, "jj" },
	{ "review-80x24-ascii", "review", 80, 24, true, "review", 0, "jjjj" },
	{ "review-beside-120x36", "review", 120, 36, false, "review", 0, "jj=" },
	{ "review-blanks-80x24", "review", 80, 24, false, "review", 0, "jjjjjW" },
	{ "help-review-120x36", "review", 120, 36, false, "review", 0, "?" },
	{ "help-review-80x24", "review", 80, 24, false, "review", 0, "?" },
	{ "review-wide-120x36", "review", 120, 36, false, "review", 0, "Gk" },
	{ "review-wide-80x24", "review", 80, 24, false, "review", 0, "G" },
	{ "compare-120x36", "preview+review", 120, 36, false, "compare", 0, "" },
	{ "compare-80x24", "preview+review", 80, 24, false, "compare", 0, "]" },
	{ "compare-80x24-ascii", "redo+redo", 80, 24, true, "compare", 0, "x" },
	{ "compare-one-80x24", "review", 80, 24, false, "compare", 0, "" },
	{ "wide-compare-120x36", "wide+review", 120, 36, false, "compare", 0, "" },
	{ "tree-120x36", "review", 120, 36, false, "tree", 0, "j" },
	{ "tree-80x24", "review", 80, 24, false, "tree", 0, "" },
	{ "tree-80x24-ascii", "review", 80, 24, true, "tree", 0, "l" },
	{ "tree-file-120x36", "review", 120, 36, false, "tree", 0, ":tree src/parse.c\n" },
	{ "tree-who-120x36", "review", 120, 36, false, "tree", 0, ":tree src/parse.c\nB" },
	{ "tree-who-80x24-ascii", "review", 80, 24, true, "fleet", 0, ":blame src/parse.c\n" },
	{ "tree-diff-80x24", "review", 80, 24, false, "tree", 0, ":tree src/parse.c\nd\n" },
	{ "tree-wide-80x24", "wide", 80, 24, false, "tree", 0, "" },
	{ "review-early-120x36", "review", 120, 36, false, "review", 6, "" },
	{ "fleet-60x16", "fleet", 60, 16, false, "fleet", 0, "" },
	{ "fleet-59x15", "fleet", 59, 15, false, "fleet", 0, "" },
	{ "fleet-asks-50x10", "asks", 50, 10, false, "fleet", 0, "" },
	{ "fleet-200x60", "fleet", 200, 60, false, "fleet", 0, "" },
	{ "agent-60x16", "fleet", 60, 16, false, "agent", 0, "o" },
	{ "agent-200x60", "fleet", 200, 60, false, "agent", 0, "" },
	{ "approval-60x16", "fleet", 60, 16, false, "approval", 0, "" },
	{ "approval-200x60", "fleet", 200, 60, false, "approval", 0, "" },
	{ "queue-60x16", "fleet", 60, 16, true, "queue", 0, "" },
	{ "review-60x16", "review", 60, 16, false, "review", 0, "" },
	{ "wide-agent-60x16", "wide", 60, 16, false, "agent", 0, "o" },
	{ "preview-approval-60x16", "preview", 60, 16, false, "approval", 0, "" },
	{ "preview-approval-120x36", "preview", 120, 36, false, "approval", 0, "" },
	{ "preview-approval-80x24", "preview", 80, 24, false, "approval", 0, "" },
	{ "preview-approval-80x24-ascii", "preview", 80, 24, true, "approval", 0, "o" },
	{ "preview-diff-120x36", "preview", 120, 36, false, "approval", 0, "d" },
	{ "preview-diff-80x24", "preview", 80, 24, false, "approval", 0, "d]]" },
	{ "preview-runs-80x24", "preview", 80, 24, false, "approval", 10, "" },
	{ "table-80x24", "fleet", 80, 24, false, "fleet", 0, ":sql SELECT * FROM file\njj" },
	{ "table-60x16-ascii", "fleet", 60, 16, true, "fleet", 0, ":sql SELECT * FROM file\nGl" },
	{ "wide-table-120x36", "wide", 120, 36, false, "fleet", 0, ":sql SELECT * FROM file\n" },
	{ "wide-table-80x24", "wide", 80, 24, false, "fleet", 0, ":sql SELECT * FROM file\njl" },
	{ "hint-fleet-80x24", "fleet", 80, 24, false, "fleet", 0, "" },
	{ "hint-approval-80x24-ascii", "fleet", 80, 24, true, "approval", 0, "" },
	{ "hint-wide-agent-80x24", "wide", 80, 24, false, "agent", 0, "" },
	{ "hint-wide-approval-120x36", "wide", 120, 36, false, "approval", 0, "" },
	{ "sessions-120x36", "fleet", 120, 36, false, "fleet", 0, "" },
	{ "sessions-80x24", "fleet", 80, 24, false, "fleet", 0, "jj" },
	{ "sessions-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "jjD" },
	{ "sessions-40x20", "fleet", 40, 20, false, "fleet", 0, "" },
	{ "sessions-none-80x24", "fleet", 80, 24, false, "fleet", 0, "" },
	{ "sessions-help-80x24", "fleet", 80, 24, false, "fleet", 0, "?" },
	{ "claims-120x36", "fleet", 120, 36, false, "claims", 0, "jj" },
	{ "claims-80x24-ascii", "fleet", 80, 24, true, "claims", 0, "j" },
	{ "claims-fleet-80x24", "fleet", 80, 24, false, "fleet", 0, "" },
	{ "found-120x36", "fleet", 120, 36, false, "fleet", 0, "/warning\n" },
	{ "found-80x24-ascii", "fleet", 80, 24, true, "fleet", 0, "/warning\nj" },
};

static void press(struct ui *ui, const char *keys)
{
	ui->mono_us += 1000000;
	for (; *keys; keys++) {
		if (*keys == ' ')
			ui->mono_us += 1000000; /* what is dead for a moment wakes up */
		ui_key(ui, (uint32_t)(unsigned char)*keys);
		ui_draw(ui);
	}
}

/* For "decide-" and "hint-": a user who may decide, and a supervisor that knows the matches of patterns. */
static void command(void *self, const char *const *words, size_t nr, json_t *opts,
		    act_done_fn *done, void *done_self)
{
	(void)self;
	fake_waivers(words, nr, opts, done, done_self);
}

static const struct act act = { .command = command };

/* For "table": what ":sql" asks. */
static sqlite3 *tables(void)
{
	static const char rows[] =
		"CREATE TABLE file(seq INTEGER, \"路径\" TEXT, bytes INTEGER, note TEXT);"
		"INSERT INTO file VALUES(12, 'src/lexer.c', 9120, 'reads \"0x\"'), (17, '文档/说明.md', 42, '还有一行，里面有很多很多字'),"
		"(23, 'docs/使い方.md', NULL, '日本語テキスト'), (31, '한국어.txt', 1048576, 'e\u0301 ' || char(0x1b) || '[31m' || char(0x202e)),"
		"(47, 'a', -1, '这一格比它的栏目宽得多：' || replace(hex(zeroblob(20)), '00', '宽宽宽'));";
	sqlite3 *db = NULL;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_exec(db, rows, NULL, NULL, NULL) != SQLITE_OK)
		printf("# no table: %s\n", sqlite3_errmsg(db));
	return db;
}

/* For "verify": what takes long shows how long. */
static int64_t stands(void)
{
	return 1000000;
}

/* For "claims-": of the first and of the last agent. */
static int fake_claims(void *self, const char *path)
{
	const struct source *s = self;
	const struct model *m = &s->model;
	int fds[2];
	(void)path;
	if (pipe2(fds, O_NONBLOCK) < 0)
		return -1;
	for (size_t i = 0; i < m->nr_agents; i++)
		if (m->agent[i].ended || i == 0)
			dprintf(fds[1],
				"{\"agent\":\"%s\",\"agent_id\":%d,\"event\":30,\"kind\":\"tests\",\"text\":\"All 118 tests pass.\","
				"\"verdict\":\"supported\",\"evidence\":[31,93]}\n"
				"{\"agent\":\"%s\",\"agent_id\":%d,\"event\":30,\"kind\":\"files\",\"text\":\"I created `notes.md` and committed "
				"everything that the task asked for.\",\"verdict\":\"contradicted\",\"why\":\"no file notes.md was written\","
				"\"evidence\":[543]}\n",
				m->agent[i].name, (int)m->agent[i].id, m->agent[i].name,
				(int)m->agent[i].id);
	close(fds[1]);
	return fds[0];
}

static void draw(size_t i, struct buf *out)
{
	struct err err = ERR_INIT;
	struct source *s = NULL, *all[2] = { NULL };
	struct ui ui;
	char path[256], *text = NULL;
	size_t len = 0;
	const char *beside = strchr(cases[i].fixture, '+'); /* two sessions: "fleet+wide" */
	snprintf(path, sizeof(path), "tests/screens/%.*s.jsonl",
		 (int)strcspn(cases[i].fixture, "+"), cases[i].fixture);
	if (source_open(&s, path, &err) < 0)
		return;
	all[0] = s;
	snprintf(path, sizeof(path), "tests/screens/%s.jsonl", beside ? beside + 1 : "");
	if (beside && source_open(&all[1], path, &err) < 0)
		return;
	bool acts = strncmp(cases[i].name, "decide-", 7) == 0 ||
		    strncmp(cases[i].name, "hint-", 5) == 0 ||
		    (strncmp(cases[i].name, "watch-", 6) != 0 &&
		     (strstr(cases[i].name, "approval") || strstr(cases[i].name, "preview-")));
	sqlite3 *db = strstr(cases[i].name, "table-") ? tables() : NULL;
	fake_handle = db;
	bool browses = strncmp(cases[i].name, "sessions-", 9) == 0 ||
		       strncmp(cases[i].name, "found-", 6) == 0;
	fake_sessions_nr = strstr(cases[i].name, "-none-") ? 0 : ARRAY_LEN(fake_sessions);
	ui_init(&ui, all, acts ? &act : NULL,
		browses	 ? 0
		: beside ? 2
			 : 1,
		cases[i].rows, cases[i].cols, cases[i].ascii);
	ui.limit = cases[i].limit;
	ui.clock = stands;
	if (strncmp(cases[i].name, "claims-", 7) == 0)
		ui.claimed = claimed_new(fake_claims, s, true);
	if (browses) {
		ui.now_us = FAKE_NOW_US;
		ui_begin_browse(&ui, &fake_browse);
	}
	if (strncmp(cases[i].name, "hint-", 5) == 0)
		ui.coach = coach_new(NULL);
	ui.replay = strncmp(cases[i].name, "replay-", 7) == 0;
	if (ui.replay)
		source_keep_way(s);
	ui_sync(&ui);
	ui_draw(&ui);
	if (strcmp(cases[i].view, "fleet") != 0)
		ui_open(&ui, cases[i].view, &(struct subject){ .agent = s->model.agent[0].id });
	ui_draw(&ui);
	press(&ui, cases[i].keys);
	ui_draw(&ui);
	for (struct verify_seen seen = { 0 }; ui.verifying && !seen.over;) { /* it runs beside us */
		CLEANUP(arena_release) struct arena a = ARENA_INIT;
		verifying_look(ui.verifying, &seen, &a);
		ui_draw(&ui);
	}
	while (ui.wake_us ==
	       ui.mono_us + 1) { /* a view continues in the next frame after its slice of time */
		ui.mono_us++;
		ui_draw(&ui);
	}
	FILE *to = open_memstream(&text, &len);
	term_dump(&ui.grid, to);
	fclose(to);
	buf_append(out, text, len);
	free(text);
	ui_release(&ui);
	source_close(&s);
	source_close(&all[1]);
	fake_handle = NULL;
	sqlite3_close(db);
}

static void show_difference(const char *got, const char *want)
{
	for (int line = 1; *got || *want; line++) {
		size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
		if (g != w || memcmp(got, want, g) != 0)
			printf("# %d got  %.*s\n# %d want %.*s\n", line, (int)g, got, line, (int)w,
			       want);
		got += g + (got[g] != 0);
		want += w + (want[w] != 0);
	}
}

int main(void)
{
	struct err err = ERR_INIT;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_release) struct buf got = BUF_INIT, want = BUF_INIT;
		char path[256];
		snprintf(path, sizeof(path), "tests/screens/%s.txt", cases[i].name);
		draw(i, &got);
		if (getenv("GOLDEN") && file_write_atomic(path, got.data, got.len, 0644, &err) < 0)
			printf("# %s\n", err.text);
		if (file_read(path, &want, 1 << 20, &err) < 0)
			buf_reset(&want);
		if (!ok(got.len > 0 && strcmp(buf_cstr(&got), buf_cstr(&want)) == 0, "%s",
			cases[i].name))
			show_difference(buf_cstr(&got), buf_cstr(&want));
	}
	return done_testing();
}

/* What supervisor and keeper say to each other: frames of wire/frame.h with JSON bodies over two
 * channels, descriptor 3 (the loop's) and 4 (for worker threads); the same requests are good on
 * both.
 *
 *  1. Each request gets exactly one KEEPER_OK or KEEPER_ERR (body: wire/launch.h) with its id, in
 *     order per channel.
 *  2. A *tree* is {"fd":n} (the n-th descriptor of the frame, a detached mount of the launcher's)
 *     or {"path":p}.
 *  3. KEEPER_START, once, first: {"guest":tree,"roots":[{"at":path,"tree":tree,"hide":[paths
 *     below]}],"env":["N=v"], "hostname":s,"tmp_bytes":n,"shm_bytes":n} ->
 *     {"pid":n,"bwrap":version}, descriptor: pidfd of the guest (readable once every process of the
 *     box has gone). bubblewrap and guest run, /workspace and /home/agent are empty.
 *  4. KEEPER_ATTACH, once or in parts ("first":n of "of":n layers; without them all at once), after
 *     START (its answer need not have come): {"layers":[{"name":n,"state":tree,"repo":tree or
 *     absent,"lowers":[tree], "masks":[{"path":bytes,"text":bytes or absent}],"git":tree or
 *     absent,"stores":[{"name":n,"tree":tree}]}]}. git: lies above repo and holds a .git; stores:
 *     each is mounted read only at /run/sandglass/git/NAME. Name "" is /workspace itself (always
 *     first), ":home" is /home/agent (always last), any other /workspace/NAME. state: holds u0 and
 *     w0 (upper and work). lowers: newest first. A mask without text hides the path, one with text
 *     shows that instead of the file. A layer on nothing (no repo, no lowers) is its upper itself,
 *     else it is an overlay, whose upper is in memory where state's file system can be none. ->
 *     {"layers":n}, those that are there, 0 before all are. With "ahead":true, before the others,
 *     once: {"layers":[{"name":":home","state":tree},{"name":"","state":tree}]}, both with nothing
 *     in them: /home/agent is there then, and "" comes later without its state. With "afresh":true,
 *     in the first of the others, what came ahead (or was tried) is taken away again.
 *  5. KEEPER_ROOT {"layer":n,"which":"upper"|"merged"|"lower"} -> descriptor, O_PATH. lower: what
 *     the box started on (masks, given lowers, repo).
 *  6. KEEPER_OPEN {"layer","which","path":bytes} -> {"mode","size"}, descriptor, O_RDONLY; regular
 *     files and directories; beneath, no links of any kind followed. Path "" is the root. With
 *     "list":true instead of a descriptor {"entries":[..]} as in 8 with "target" of symbolic links:
 *     what a directory of mode 0 holds.
 *  7. KEEPER_APPLY {"layer":n}, descriptors: the plan (wire/plan.h) in a memfd, then those that it
 *     writes from. -> {"done":n operations}. KEEPER_FDS sends descriptors ahead of a frame that
 *     needs more than FD_PASS_MAX: they come before the frame's own; it has no answer.
 *  8. KEEPER_LOOK {"path":bytes,"as":"file"|"dir"|"stat"}: a path as processes in the box see it,
 *     links followed inside the box only -> {"kind","mode","size","mtime_us","nlink"}, for file a
 *     descriptor (O_RDONLY), for dir
 *     "entries":[{"name":bytes,"kind","mode","size","mtime_us","nlink"}] sorted by bytes,
 *     "more":true past KEEPER_LIST_MAX. kind: "file" "dir" "symlink" "fifo" "socket" "device"
 *     "whiteout".
 *  9. KEEPER_WRITE {"path":bytes,"mode":n or -1}, descriptor: content in a memfd ->
 *     {"size":n,"created":bool}. Missing directories are made. The content is truncated and
 *     rewritten in place, so links and owner stay.
 * 10. KEEPER_GONE {"code":n,"signal":n}, id 0, on the loop's channel: bubblewrap has ended.
 * 11. The end of the loop's channel ends the keeper and with it the box. */
#ifndef WIRE_KEEPER_H
#define WIRE_KEEPER_H

#include <sys/stat.h>

#include "base/json.h"

enum { KEEPER_MAX_BODY = 32 << 20, KEEPER_LIST_MAX = 100000 };

enum keeper_frame {
	KEEPER_OK = 1,
	KEEPER_ERR,
	KEEPER_GONE,
	KEEPER_START = 16,
	KEEPER_ATTACH,
	KEEPER_ROOT,
	KEEPER_OPEN,
	KEEPER_FDS,
	KEEPER_APPLY,
	KEEPER_LOOK,
	KEEPER_WRITE,
};

/* Descriptors that the keeper finds open: argv of sandglass-keeper is {name, uid, gid, number of
 * filters, number of cgroup descriptors}; from KEEPER_FD_FILTERS on lie the filters, then the
 * cgroup.procs files that bubblewrap enters.
 */
enum { KEEPER_FD_LOOP = 3, KEEPER_FD_WORKER, KEEPER_FD_GUEST, KEEPER_FD_FILTERS };

/* Is the file system of @path one that the kernel takes for no upper of an overlay? Overlays (the
 * root of every container) and those of a network. */
bool keeper_upper_unfit(const char *path);

/* Rule 9's "kind","mode","size","mtime_us","nlink" and "entries". */
void keeper_put_stat(json_t *body, const struct stat *st);
/* takes @dir (O_RDONLY) */
NODISCARD int keeper_put_entries(json_t *body, int dir, struct err *err);

#endif

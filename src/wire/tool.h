/* Our guest program as a tool: file operations of the supervisor in a remote sandbox. It is started
 * as an ordinary command there, by the guest or by anything else that can run a program and give it
 * bytes:
 *
 *   sandglass-guest --tool VERB ARGUMENT...  <input  >answer
 *
 *  1. Answer: u8 0 and the verb's answer; or u8 code (enum err_code, never 0) and a line of text.
 *     The exit status is 0 or 1. Rules 8, 10, 12, and 13 have no answer: they become or run a
 *     command, or pass bytes on.
 *  2. list ROOT          input: u64 digest (or nothing). answer: u64 digest, then, unless it equals
 *                        the given one, the manifest (wire/manifest.h). The digest names the
 *                        manifest as a whole.
 *  3. get ROOT           input: any number of (str path, u64 from, u64 bytes). answer: for each u8
 *                        1, an entry of the manifest, u64 n, n bytes; or u8 0 if the file does not
 *                        exist. Below ROOT, no link followed.
 *  4. apply ROOT         input: u64 n, a plan of n bytes (wire/plan.h), the contents, which are its
 *                        descriptor 0. No answer.
 *  5. look PATH AS MAX   AS: file, dir, stat. answer: u32 n, n bytes of JSON as in rule 9 of
 *                        wire/keeper.h; for file the first MAX bytes of it.
 *  6. write PATH MODE    input: the contents. MODE octal, or -1 as in rule 10 of wire/keeper.h.
 *                        answer: JSON as there.
 *  7. remove ROOT        removes the whole tree. No answer.
 *  8. offline WORD...    becomes the command of these words, which can make no socket. A command
 *                        that can't be executed ends with 127 or 126, as in a shell.
 *  9. news ROOT DIGEST SINCE MAX   DIGEST: 16 digits of hexadecimal, SINCE: ns since 1970.
 *                        answer: u64 digest, then, unless it equals DIGEST, u64 n, the manifest of
 *                        n bytes, and for files whose inode changed after SINCE the answer of get,
 *                        whole files in the order of the manifest, as many as fit into an answer of
 *                        MAX bytes. ERR_FULL: the manifest alone is larger.
 * 10. tty FILE COLS ROWS WORD...   runs the command of these words in a terminal of that size
 *                        (0: no size), in a session of its own, whose number is written to FILE.
 *                        Input is typed there; the terminal's output is the answer. It ends as the
 *                        command does, after all output; with SIGKILL, its whole session. 126 and a
 *                        line on stderr if no terminal can be opened.
 *                        If FILE.ask exists when something is typed, it is removed. It holds words,
 *                        each ended by a zero: a mark, a number, a verb and its arguments. As soon
 *                        as the mark has been output after that and, later, its first byte once
 *                        more, the verb's answer is written to FILE.say.NUMBER. The newest counts.
 * 11. sum ROOT           input: any number of str path. answer: for each u8 1, an entry of the
 *                        manifest, 32 bytes: SHA-256 of the whole file; or u8 0 if the file does
 *                        not exist or changed while it was read. Paths as for get.
 * 12. ends DIR WORD...   runs the command of these words as a child. When it has ended, DIR/s holds
 *                        "STATUS SIGNAL" (0: none), which no shell tells apart in all cases, and
 *                        the tool ends with the status, or 128 more than the signal. Meanwhile the
 *                        command is stopped while its output files DIR/o and DIR/e are too far
 *                        ahead of DIR/r, the numbers of bytes fetched from both. DIR/z exists while
 *                        it is stopped; to signal the command, remove DIR/z first and send SIGCONT
 *                        after the signal.
 * 13. connect HOST PORT  asks the egress proxy of the sandbox for a connection, then passes bytes
 *                        between it and descriptors 0 and 1, as a ProxyCommand of ssh. A refusal
 *                        is 1 and a line on stderr with its reason. */
#ifndef WIRE_TOOL_H
#define WIRE_TOOL_H

#define TOOL_OPTION "--tool"
/* the egress proxy of a sandbox, on its loopback */
enum { TOOL_MAX_IN = 1 << 30, TOOL_PIECE = 8 << 20, TOOL_PROXY_PORT = 3128 };

#endif

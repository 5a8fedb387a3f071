/* Our guest program as a tool: what the supervisor has done to the files of a box that lies
 * elsewhere. It is started as an ordinary command there, by the guest or by anything else that can
 * run a program and give it bytes:
 *
 *   sandglass-guest --tool VERB ARGUMENT...  <input  >answer
 *
 *  1. Answer: u8 0 and what the verb says; or u8 code (enum err_code, never 0) and a line of text.
 *  The exit status is 0 or 1.
 *  2. list ROOT          input: u64 digest (or nothing). answer: u64 digest, then, unless it is the
 *                        one given, the manifest
 *                        (wire/manifest.h). The digest names the manifest as a whole.
 *  3. get ROOT           input: any number of (str path, u64 from, u64 bytes). answer: for each u8
 *                        1, an entry of the
 *                        manifest, u64 n, n bytes; or u8 0 where there is no such file. Below ROOT,
 *                        no link followed.
 *  4. apply ROOT         input: u64 n, a plan of n bytes (wire/plan.h), the contents, which are its
 *                        descriptor 0. No answer.
 *  5. look PATH AS MAX   AS: file, dir, stat. answer: u32 n, n bytes of JSON as rule 9 of
 *                        wire/keeper.h says; for file the
 *                        first MAX bytes of it.
 *  6. write PATH MODE    input: the contents. MODE octal, or -1 as rule 10 of wire/keeper.h.
 *                        answer: JSON as there.
 *  7. remove ROOT        all of it. No answer.
 *  8. offline WORD...    is no question: it becomes the command of these words, which can make no
 *                        socket. What cannot be
 *                        executed ends with 127 or 126, as in a shell.
 *  9. news ROOT DIGEST SINCE MAX   DIGEST: 16 digits of hexadecimal, SINCE: ns since 1970. answer:
 *                                  u64 digest, then, unless it is the
 *                        one given, u64 n, the manifest of n bytes, and for files whose inode
 *                        changed after SINCE what get answers,
 *                        whole files in the order of the manifest, as many as go into an answer of
 *                        MAX bytes. ERR_FULL: not even
 *                        the manifest does.
 * 10. tty FILE COLS ROWS WORD...  is no question: the command of these words runs in a terminal of
 *                                 that size (0: of none), in a session
 *                        of its own, whose number stands in FILE. Input is typed there; what comes
 *                        out of it is the answer. It ends
 *                        as the command does, after all that came out before; with SIGKILL, all of
 *                        its session. 126 and a line on
 *                        stderr where there is no terminal to be had.
 *                        Where FILE.ask stands when something is typed, it is taken away: words,
 *                        each with a zero at its end: a mark, a
 *                        number, a verb and its arguments. As soon as from then on the mark has
 *                        come out and, later, its first byte once
 *                        more, what the verb answers stands in FILE.say.NUMBER. The newest counts.
 * 11. sum ROOT          input: any number of str path. answer: for each u8 1, an entry of the
 *                       manifest, 32 bytes: SHA-256 of all that the
 *                        file holds; or u8 0 where there is no such file, or it changed while it
 *                        was read. Paths as for get.
 * 12. ends FOLDER WORD... is no question: the command of these words is run as a child. When it has
 * ended FOLDER/s holds "STATUS SIGNAL"
 *                        (0: none), which no shell tells apart in all cases, and the tool ends with
 *                        the status, or 128 more than the signal.
 *                        Meanwhile it stands still while FOLDER/o and FOLDER/e, into which it puts
 *                        out, are too far ahead of FOLDER/r, which
 *                        says how much of both has been fetched. FOLDER/z is there as long; whoever
 *                        has a signal for it removes that, and
 *                        sends SIGCONT after it. */
#ifndef WIRE_TOOL_H
#define WIRE_TOOL_H

#define TOOL_OPTION "--tool"
enum { TOOL_MAX_IN = 1 << 30, TOOL_PIECE = 8 << 20 };

#endif

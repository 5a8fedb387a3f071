/* What the supervisor and sandglass-screen say to each other: frames (wire/frame.h) over the socket
 * at descriptor SCREEN_FD. sandglass-screen emulates the terminals of a session's programs and
 * makes the keyframes of their screens. A frame's id is that of the terminal's action.
 *
 *   supervisor to program
 *     BEGIN    body: "ROWS COLS LF"; LF is 1 if the terminal makes no CR LF of LF
 *     SIZE     body: "ROWS COLS", at this place of the output
 *     OUTPUT   body: the next bytes as they are recorded
 *     END      the terminal is forgotten
 *   program to supervisor
 *     KEY      body: "OFFSET ROWS COLS", a line feed, and the keyframe at that offset of the output
 *     DONE     answers one OUTPUT, after the keyframes in it; body: "0" if no keyframe follows for
 *              this terminal
 *
 * The program ends when the supervisor closes its end. */
#ifndef WIRE_SCREEN_H
#define WIRE_SCREEN_H

enum {
	SCREEN_FD = 3,
	SCREEN_PIECE = 256 << 10, /* of output, at most */
	SCREEN_BODY_MAX = 16 << 20,
	SCREEN_TERMINALS = 32,
	SCREEN_KEY_EVERY = 1 << 20, /* bytes of output between keyframes, at least */
};

enum screen_frame {
	SCREEN_BEGIN = 1,
	SCREEN_SIZE,
	SCREEN_OUTPUT,
	SCREEN_END,
	SCREEN_KEY = 16,
	SCREEN_DONE,
};

#endif

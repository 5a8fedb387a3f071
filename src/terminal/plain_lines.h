/* Shortens output of a program before it becomes cells: drops plain lines that have left the
 * screen.
 *
 * The shorter output makes the same screen: a run of plain text (printable characters, tabs,
 * colors) that feeds at least twice as many lines as the screen has rows leaves only its last
 * lines. The colors that are set in dropped lines stay. Nothing is dropped while margins are
 * set. */
#ifndef TERMINAL_PLAIN_LINES_H
#define TERMINAL_PLAIN_LINES_H

#include <stdbool.h>

#include "base/buf.h"

/* @in_string: @b starts inside of a string (OSC, DCS); else between two sequences. @margins: scroll
 * margins are set at the start of @b; becomes whether they are at its end. Returns the length of
 * the complete part: the start of a sequence may follow. */
size_t plain_lines_drop(struct buf *b, int rows, bool in_string, bool *margins);

#endif

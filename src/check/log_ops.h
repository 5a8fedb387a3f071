/* What a check file may ask of a record (lua/sandglass/verify.lua is the other side): calls in,
 * plain data out. Reading only.
 *
 *   log.find    {filter, after?, max?, last?: only the newest} -> {rows: [query/row.h]}, ascending
 *   log.count   {filter} -> {n}
 *   log.row     {id} -> {row}
 *   log.sql     {sql} -> {rows: [{column: value}]}; at most LOG_SQL_MAX rows, else an error that
 *               reports the limit
 *   log.output  {id, stream: out, err, pty} -> {text, cut}: first and last LOG_OUTPUT_MAX / 2 bytes
 *   log.grep    {regex: POSIX extended} -> {ids}: actions whose output has it
 *   log.changes {id?: of this action only} -> {changes: [{id, box, op, path, by: [actions], agents:
 *   [of those; 0 = none], hash_only?}]}
 *   log.tree    {how: final, rebuild} -> {tree: text}: see log_tree.c
 *   log.session {} -> {id, name, live, head, script, agents: [{id, name, task, model, parent, box,
 *   stop, text, ok}],
 *              boxes: [{id, name, was: the box that it replaces, fork: the box that it copies,
 *              upto: its snapshot, trial: 0, 1}]} */
#ifndef CHECK_LOG_OPS_H
#define CHECK_LOG_OPS_H

#include "luahost/lua_file.h"
#include "record/read/session.h"

enum { LOG_FIND_MAX = 1000, LOG_SQL_MAX = 10000, LOG_OUTPUT_MAX = 1 << 20 };

/* @self: struct session *. For lua_file_run. */
lua_file_call_fn log_call;

/* Actions whose output (stdout, stderr, terminal; however long) matches: appends their ids to the
 * array @ids. */
NODISCARD int log_grep(struct session *s, const char *regex, json_t *ids, struct err *err);

/* The trees of all boxes as text, "box repo oid path" a line (box: its name): of every path that
 * was ever changed, as the newest snapshot has it (@rebuild: as all recorded changes, one after
 * another, leave it). ERR_UNSUPPORTED where the record does not list all changes. */
NODISCARD int log_tree(struct session *s, bool rebuild, struct buf *out, struct err *err);

#endif

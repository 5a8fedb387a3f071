/* Inside of model_apply: model_fold.c for agents, actions and the session, model_fold_box.c for
 * boxes, dry runs and second runs of commands. */
#ifndef UI_MODEL_FOLD_H
#define UI_MODEL_FOLD_H

#include "ui/model/model.h"
#include "wire/event_body.h"

/* Replaces a text (owned); NULL, or a field that is not there, leaves it. */
void fold_text(char **at, const char *s);
void fold_bytes(char **at, struct ev_text t);

/* Whatever changes an element finds it by these: its old state is kept for the way back. NULL:
 * unknown. */
struct model_agent *fold_agent(struct model *m, uint64_t id);
struct model_box *fold_box(struct model *m, uint64_t id);
struct model_action *fold_action(struct model *m, uint64_t id);

/* @body: the struct of the event's kind. */
void fold_box_open(struct model *m, const struct event *ev, const struct ev_box_open *o);
void fold_box_event(struct model *m, const struct event *ev, const void *body);
void fold_dry_run(struct model *m, const struct event *ev, const void *body);
void fold_forget_dry_runs(struct model *m);
void fold_repeat(struct model *m, const struct event *ev, const void *body);
bool fold_repeat_action(struct model *m, const struct event *ev);

#endif

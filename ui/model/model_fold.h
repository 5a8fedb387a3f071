/* Inside of model_apply: model_fold.c for agents, model_fold_action.c for actions,
 * model_fold_session.c for the session, model_fold_box.c for sandboxes, dry runs, and repeats. */
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

/* The script as an agent: its own actions are a row of the fleet once there are any. NULL before
 * the session's start is known. */
struct model_agent *fold_script_agent(struct model *m, const struct event *ev);
/* The model's copy of a text with few values, kept until the model goes. */
const char *fold_intern(struct model *m, struct ev_text t);
struct limits fold_limits_of(const struct ev_limits *l);

/* @body: the struct of the event's kind. @a: the agent that the event names; NULL none. */
void fold_action_requested(struct model *m, struct model_agent *a, const struct event *ev,
			   const struct ev_action_requested *o);
void fold_action_event(struct model *m, struct model_agent *a, const struct event *ev,
		       const void *body);
void fold_session_event(struct model *m, struct model_agent *a, const struct event *ev,
			const void *body);
void fold_box_open(struct model *m, const struct event *ev, const struct ev_box_open *o);
void fold_box_event(struct model *m, const struct event *ev, const void *body);
void fold_dry_run(struct model *m, const struct event *ev, const void *body);
void fold_forget_dry_runs(struct model *m);
void fold_repeat(struct model *m, const struct event *ev, const void *body);
bool fold_repeat_action(struct model *m, const struct event *ev);

#endif

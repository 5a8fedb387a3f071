/* The options of a session's start. */
#ifndef SUPERVISOR_CORE_SUPER_OPTS_H
#define SUPERVISOR_CORE_SUPER_OPTS_H

#include "base/json.h"

/* The request of `sandglass run`; plain data that also goes into session.start. */
struct super_opts {
	const char *name;	 /* of the session; from the script's file name */
	const char *script_path; /* for messages; NULL with text from the library */
	const char *script;	 /* text; borrowed */
	size_t script_len;
	char *const *args; /* after --, NULL-terminated */
	const char *sessions_dir;
	/* the model that answers from where a fork begins; NULL = as before */
	const char *fork_model;
	const char *resume;  /* path of a session file to resume; NULL = a new one */
	const char *model;   /* --model; may be NULL */
	const char *backend; /* --backend; may be NULL */
	const char *hold;    /* --hold FILTER; may be NULL */
	/* files ("lua:PATH": of the library), NULL-terminated; may be NULL */
	const char *const *policy;
	const char *notify; /* notification command (sh -c); may be NULL */
	/* a filter: notifies only of matching pending actions; NULL: of all */
	const char *notify_host; /* in the ssh lines; NULL: this host's own name */
	const char *notify_when;
	/* {"uusd":..,"tokens":..,"time_us":..,"steps":..,"actions":..} or NULL; borrowed */
	json_t *budget;
	json_t *models, *prices; /* the configuration's (model/provider.h), or NULL; borrowed */
	json_t *search;		 /* settings "search" (src/web), or NULL; borrowed */
	json_t *otlp;		 /* settings "otlp" (otlp_live.h), or NULL; borrowed */
	/* model traffic comes from this file (model/cassette.h), or NULL */
	const char *cassette;
	bool cassette_add;	 /* what it does not know is asked, and added */
	unsigned cassette_speed; /* 0 at once */
	/* when the script that is resumed with other text was saved; 0 it was not */
	int64_t saved_us;
	/* the configuration's: {NAME: where} (vault.h), or NULL; borrowed */
	json_t *secrets;
	/* what a box has if its script says nothing else: {"limits":{..},"env":{..},"expose":[..]};
	 * borrowed */
	json_t *box;
	/* patterns of paths whose bytes are not kept; NULL: the built-in ones */
	const char *const *hash_only;
	size_t nr_hash_only;
	int pool;		  /* warm boxes; -1 = the default */
	json_t *roots;		  /* extra read-only roots for every box, or NULL; borrowed */
	unsigned box_uid;	  /* of boxes when root starts us; 0 = choose */
	uint64_t keep_file_bytes; /* larger files are kept by hash only; 0 = the default */
	bool own_rules;		  /* of the demo: rules of projects don't apply */
	bool hide_tokens;	  /* live tokens are not recorded (record_hide_tokens) */
	int64_t ask_timeout_us;	  /* of approvals whose rule names none; 0 = none */
	const json_t *labels;	  /* body of session.labeled, or NULL; borrowed */
	const char *share;	  /* --share GROUP[:watch|:decide] (control/share.h), or NULL */
	bool step;		  /* pause before the first action */
	bool no_input;		  /* ask = deny */
	bool accept_reduced;
	/* ready_fd gets its line when the session is ready, not when it listens (readiness.h) */
	bool stand;
	bool person; /* a client is expected to attach (line mode, console) */
	/* gets one line {"id":..,"path":..,"socket":..} or {"error":..} when it is; -1 = none */
	int ready_fd;
};

#endif

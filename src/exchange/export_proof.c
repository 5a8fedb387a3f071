/* A proof bundle: record/export_copy.h, checked by schema/check_proof.sh. */
#include "exchange/export.h"
#include "record/export_copy.h"

int export_proof(struct export *x, struct err *err)
{
	return export_copy_proof(session_path(x->s), x->path, err);
}

#include "cli/complete.h"

#include <string.h>

#include "exchange/export.h"
#include "exchange/import.h"
#include "luahost/library.h"
#include "luahost/plugin_own.h"
#include "hosted/hosted_plugin.h"
#include "base/mem.h"
#include "sandbox/driver.h"

void complete_kinds(complete_fn *fn, void *self)
{
	CLEANUP(strv_release) struct strv own = STRV_INIT;
	plugin_own_names("sandboxes", &own);
	for (size_t i = 0; driver_at(i); i++)
		fn(self, driver_at(i)->name, driver_at(i)->about);
	for (size_t i = 0; hosted_plugin_name(i); i++)
		fn(self, hosted_plugin_name(i), "a rented machine");
	for (size_t i = 0; i < own.nr; i++)
		fn(self, own.item[i], "yours");
}

static void inner_agents(complete_fn *fn, void *self)
{
	static const char folder[] = "plugins/agents/";
	const char *path;
	for (size_t i = 0; (path = library_path(i)); i++) {
		if (strncmp(path, folder, sizeof(folder) - 1) != 0)
			continue;
		CLEANUP(free_ptr)
		char *name = mem_strndup(path + sizeof(folder) - 1,
					 strlen(path) - (sizeof(folder) - 1) - strlen(".lua"));
		fn(self, name, "");
	}
}

static void complete_value_exports(complete_fn *fn, void *self)
{
	for (size_t i = 0; exporter_at(i); i++)
		fn(self, exporter_at(i)->name, exporter_at(i)->about);
}

static void complete_value_imports(complete_fn *fn, void *self)
{
	for (size_t i = 0; importer_at(i); i++)
		fn(self, importer_at(i)->name, importer_at(i)->about);
}

static const struct {
	const char *option, *command; /* NULL: of every command that has it */
	void (*each)(complete_fn *fn, void *self);
} complete_value_values[] = {
	{ "backend", NULL, complete_kinds },
	{ "agent", "run", inner_agents },
	{ "format", "export", complete_value_exports },
	{ "format", "import", complete_value_imports },
};

bool complete_value(const struct command *c, const char *option, complete_fn *fn, void *self)
{
	for (size_t i = 0; i < ARRAY_LEN(complete_value_values); i++)
		if (!strcmp(complete_value_values[i].option, option) &&
		    (!complete_value_values[i].command ||
		     !strcmp(complete_value_values[i].command, c->name))) {
			complete_value_values[i].each(fn, self);
			return true;
		}
	return false;
}

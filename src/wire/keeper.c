#include "wire/keeper.h"

const char *keeper_frame_name(unsigned type)
{
	static const char *const names[] = { "start", "attach", "root", "open", "fds", "apply", "rotate", "look", "write" };
	return type >= KEEPER_START && type - KEEPER_START < ARRAY_LEN(names) ? names[type - KEEPER_START] : "unknown";
}

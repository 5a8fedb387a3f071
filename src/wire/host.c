#include "wire/host.h"

const char *host_frame_name(uint16_t type)
{
	switch ((enum host_frame)type) {
	case HOST_START:
		return "start";
	case HOST_ANSWER:
		return "answer";
	case HOST_CHUNK:
		return "chunk";
	case HOST_MESSAGE:
		return "message";
	case HOST_STOP:
		return "stop";
	case HOST_EVENT:
		return "event";
	case HOST_JUDGE:
		return "judge";
	case HOST_ASK:
		return "ask";
	case HOST_VALUE:
		return "value";
	case HOST_CALL:
		return "call";
	case HOST_TELL:
		return "tell";
	case HOST_CANCEL:
		return "cancel";
	case HOST_IDLE:
		return "idle";
	case HOST_RESULT:
		return "result";
	case HOST_VERDICT:
		return "verdict";
	case HOST_END:
		return "end";
	}
	return NULL;
}

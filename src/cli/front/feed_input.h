/* Standard input of this program for a command in a box that was begun with its input open
 * (`sandbox exec -i`). */
#ifndef CLI_FRONT_FEED_INPUT_H
#define CLI_FRONT_FEED_INPUT_H

#include <stdint.h>

/* Reads descriptor 0 on a thread of its own and sends it to action @action of the supervisor at
 * @socket, until either ends. Reads no more than the command takes, and nothing before this call.
 * The thread ends with the program. */
void feed_input(const char *socket, uint64_t action);

#endif

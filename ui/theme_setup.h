/* The terminal's and the user's settings of themes and keys; invalid settings are reported on
 * the message line. */
#ifndef UI_THEME_SETUP_H
#define UI_THEME_SETUP_H

#include "ui/console.h"
#include "ui/frame/ui.h"

/* The theme, now and for ":set theme=NAME". Once the terminal is ours; @o is borrowed as long as
 * @ui. */
void theme_setup_theme(struct ui *ui, const struct console_opts *o);
void theme_setup_keys(struct ui *ui, const struct console_opts *o);

#endif

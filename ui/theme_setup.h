/* What the terminal and the person's settings say about looks and keys; what is wrong with the
 * settings is said on the line. */
#ifndef UI_THEME_SETUP_H
#define UI_THEME_SETUP_H

#include "ui/console.h"
#include "ui/frame/ui.h"

/* The theme, now and for ":set theme=NAME". Once the terminal is ours; @o is borrowed as long as
 * @ui. */
void theme_setup_theme(struct ui *ui, const struct console_opts *o);
void theme_setup_keys(struct ui *ui, const struct console_opts *o);

#endif

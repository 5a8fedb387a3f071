#!/usr/bin/env bash
# Random repositories, random work, one merge, one undo: real git says what must come out. A failing seed is printed with the command
# that replays it. SEED: the first one; COUNT: how many.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v python3 >/dev/null || { skip 'needs python3'; finish; }
exec "$(dirname "$0")/../model/merge_model.py" --seed "${SEED:-1}" --count "${COUNT:-$([ -n "${LONG:-}" ] && echo 2000 || echo 100)}"

#!/usr/bin/env bash
# Random repositories, random work, one merge, one undo: real git gives the expected result. A failing seed is printed
# with the command that repeats it. SEED: the first seed; COUNT: the number of seeds.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v python3 >/dev/null || { skip 'needs python3'; finish; }
exec "$(dirname "$0")/../model/merge_model.py" --pinned --seed "${SEED:-1}" --count "${COUNT:-$([ -n "${LONG:-}" ] && echo 2000 || echo 50)}"

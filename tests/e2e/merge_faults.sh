#!/usr/bin/env bash
# The model of merging judges: every fault that is planted into a result of a merge or an undo is noticed.
. "$(dirname "$0")/lib.sh"
need_boxes
command -v python3 >/dev/null || { skip 'needs python3'; finish; }
exec "$(dirname "$0")/../model/merge_model.py" --fault all --seed 1 --count "${COUNT:-40}"

#!/usr/bin/env bash
# The suites against the process driver.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
need_boxes
contract process process
conform process process
finish

#!/usr/bin/env bash
# The conformance suite against the process driver.
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
exec "${B:-build}/helpers/drivers/conformance" process

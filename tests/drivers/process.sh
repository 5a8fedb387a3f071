#!/usr/bin/env bash
# The conformance suite against the process driver.
exec "${B:-build}/helpers/drivers/conformance" process

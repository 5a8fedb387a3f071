#!/usr/bin/env bash
# Random keys while high-risk actions wait: 12 seconds, 10 minutes with LONG=1.
set -u
cd "$(dirname "$0")/../.."
exec env FUZZ_SECONDS="${KEYS_SECONDS:-${LONG:+600}}" sh -c 'FUZZ_SECONDS=${FUZZ_SECONDS:-12} exec "$0"' "${B:-build}/tests/ui/t_keys_fuzz"

#!/usr/bin/env bash
# The property of determinism.sh at every third event (LONG=1: each) of a small script with concurrency, time, randomness, and a model.
exec env SMALL=1 "$(dirname "$0")/determinism.sh"

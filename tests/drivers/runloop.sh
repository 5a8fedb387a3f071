#!/usr/bin/env bash
# Boxes of Runloop, against a fake that its own SDK drives first.
kind=runloop sdk=@runloop/api-client key=RUNLOOP_API_KEY url=RUNLOOP_BASE_URL create='^/v1/devboxes$' exec_path='/execute$'
asleep='POST /v1/devboxes/.*/suspend'
export RUNLOOP_API_KEY=ak_test
. "$(dirname "$0")/rented.bash"

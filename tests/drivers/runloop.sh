#!/usr/bin/env bash
# Boxes of Runloop, against a fake that its own SDK drives first.
kind=runloop sdk=@runloop/api-client key=RUNLOOP_API_KEY url=RUNLOOP_BASE_URL url2=RUNLOOP_TUNNEL_URL tail2=/tunnel create='^/v1/devboxes$' exec_path='/execute$'
asleep='POST /v1/devboxes/.*/suspend'
export RUNLOOP_API_KEY=ak_test
token=tunnel-secret-dbx large=1
. "$(dirname "$0")/rented.bash"

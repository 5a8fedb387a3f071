#!/usr/bin/env bash
# Boxes of Daytona, against a fake that its own SDK drives first.
kind=daytona sdk=@daytonaio/sdk key=DAYTONA_API_KEY url=DAYTONA_API_URL tail=/api create='^/api/sandbox$' exec_path=/process/execute asleep='POST /api/sandbox/.*/stop'
export DAYTONA_API_KEY=dtn_test
. "$(dirname "$0")/rented.bash"

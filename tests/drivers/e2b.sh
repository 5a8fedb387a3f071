#!/usr/bin/env bash
# Boxes of E2B, against a fake that its own SDK drives first.
kind=e2b sdk=e2b key=E2B_API_KEY url=E2B_API_URL url2=E2B_SANDBOX_URL create='^/v2/sandboxes$' exec_path=/process.Process/Start
asleep='POST /sandboxes/.*/pause'
export E2B_API_KEY=e2b_00
token='traffic-i'
. "$(dirname "$0")/rented.bash"

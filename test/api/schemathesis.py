"""Bodies that name a workspace name one that there is; those that are wrong stay so."""

import os

import schemathesis


@schemathesis.hook
def map_body(context, body):
    named = body.get("workspaceId") if isinstance(body, dict) else None
    if isinstance(named, str) and 0 < len(named) <= 128:
        return {**body, "workspaceId": os.environ["HEDDLE_TEST_WORKSPACE"]}
    return body

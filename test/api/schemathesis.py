"""Hooks for schemathesis.

Every second valid call is replaced with an accepted request: existing resources and accepted values.
"""

import collections
import itertools
import json
import os

import schemathesis

WORKSPACE = os.environ["HEDDLE_TEST_WORKSPACE"]
# Accepted requests, by method and path.
CALLS = json.loads(os.environ["HEDDLE_TEST_CALLS"])
numbers = itertools.count()
call_counts = collections.Counter()


@schemathesis.hook
def map_body(context, body):
    """Replaces the id of the workspace in a body with an existing one. Invalid bodies stay invalid."""
    workspace_id = body.get("workspaceId") if isinstance(body, dict) else None
    if isinstance(workspace_id, str) and 0 < len(workspace_id) <= 128:
        return {**body, "workspaceId": WORKSPACE}
    return body


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Removes the schema of event streams: it describes the whole text, but schemathesis checks each event with it."""
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            for response in operation["responses"].values():
                if "text/event-stream" in response.get("content", {}):
                    response["content"]["text/event-stream"] = {}


@schemathesis.hook
def before_call(context, case, kwargs):
    method = case.operation.method.upper()
    accepted_call = CALLS.get(f"{method} {case.operation.path}")
    is_invalid = case.meta is None or case.meta.generation.mode.is_negative or case.method.upper() != method
    if accepted_call is None or is_invalid:
        return
    number = next(numbers)
    # Calls are counted per operation, so that the first call of each operation is replaced.
    call_counts[case.operation.label] += 1
    if call_counts[case.operation.label] % 2 == 0:
        # Schemathesis reuses ids of earlier responses: resources that other operations need must not be deleted.
        if method == "DELETE":
            case.path_parameters = dict(accepted_call.get("path", {}))
        return
    case.path_parameters = dict(accepted_call.get("path", {}))
    case.query = dict(accepted_call.get("query", {}))
    if "body" in accepted_call:
        # A name can be used only once.
        case.body = json.loads(json.dumps(accepted_call["body"]).replace("{n}", str(number)))
        case.media_type = "application/json"

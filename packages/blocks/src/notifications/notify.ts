import { isBlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, NotificationOutcome } from '@heddle/core/blocks';
import { presetOf } from '../agent/preset.ts';
import { toolRows, withParsedParams } from '../agent/tool-rows.ts';
import type { ToolRow } from '../agent/tool-rows.ts';
import { offeredTools, usageOf, toReadyTool } from '../agent/tools.ts';
import type { ReadyTool } from '../agent/ready-tool.ts';
import { isWorkflowRow } from '../agent/workflow-rows.ts';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';
import { isMcpTool, mcpTools } from '../mcp/agent-tools.ts';
import type { BlocksOptions } from '../options.ts';

/** Maximum number of notifications of a pause. Further ones are not sent. */
const MAX_NOTIFICATIONS = 20;
/** Time limit of one call: a call without an answer must not keep the run from pausing. */
const MAX_CALL_MS = 60_000;
const MAX_ERROR_CHARS = 1000;

/** The outcome of a call. */
type CallOutcome = Pick<NotificationOutcome, 'status' | 'error'>;

/** An entry in the field `notification`, and its number from 1. */
interface Notification extends ToolRow {
  number: number;
}

/**
 * Calls the notification tools of a pause concurrently, with the arguments that the author has set. If the process is
 * killed during a call, the call is repeated only if the tool is idempotent; otherwise, its outcome is `unknown`.
 */
export async function notify(context: Context, options: BlocksOptions): Promise<NotificationOutcome[]> {
  let rows: ToolRow[];
  try {
    rows = toolRows(context, 'notification').filter(({ row }) => row['usageControl'] !== 'none');
  } catch (error) {
    return [{ type: '', ...failedOutcome(context, error) }];
  }
  return Promise.all(
    rows.map((row, index) => sendNotification(context, { ...row, number: index + 1 }, options)),
  );
}

async function sendNotification(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<NotificationOutcome> {
  const { type, title } = notification.row;
  return {
    type: typeof type === 'string' ? type : '',
    ...(typeof title === 'string' && title !== '' && { title }),
    ...(await sendOnce(context, notification, options)),
  };
}

/**
 * Calls the tool of a notification as a step, so that a later attempt neither repeats nor loses the call. Throws only
 * if the block is stopped or the store fails.
 */
async function sendOnce(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<CallOutcome> {
  const timeout = new AbortController();
  const limitedContext = withSignal(context, AbortSignal.any([context.signal, timeout.signal]));
  const cancelTimer = context.clock.at(context.clock.now() + MAX_CALL_MS, () =>
    timeout.abort(new Error('No answer in time.')),
  );
  try {
    const call = await prepareCall(limitedContext, notification, options).catch((error: unknown) => {
      // An earlier attempt may have made the call. The step then returns the recorded outcome.
      return { isIdempotent: false, make: () => Promise.reject(error as Error) };
    });
    const step = `call ${notification.number}`;
    const makeCall = async ({ idempotencyKey }: { idempotencyKey: string }): Promise<JsonObject> => {
      const outcome = await call.make({ idempotencyKey, step }).then(
        (): CallOutcome => ({ status: 'sent' }),
        (error: unknown) => (timeout.signal.aborted ? NO_ANSWER : failedOutcome(context, error)),
      );
      return { ...outcome };
    };
    return (await context.step(step, makeCall, { idempotent: call.isIdempotent })) as unknown as CallOutcome;
  } catch (error) {
    if (!isBlockError(error) || error.code !== 'STEP_OUTCOME_UNKNOWN') throw error;
    return {
      status: 'unknown',
      error: 'The call was interrupted and is not repeated. The notification may have been sent.',
    };
  } finally {
    cancelTimer();
  }
}

const NO_ANSWER: CallOutcome = {
  status: 'unknown',
  error: `The service did not answer within ${MAX_CALL_MS / 1000} seconds. The notification may have been sent.`,
};

/**
 * Returns the outcome of a call that failed. Throws if the block was stopped: the outcome of the call is then
 * unknown.
 */
function failedOutcome({ signal }: Context, error: unknown): CallOutcome {
  signal.throwIfAborted();
  const message = error instanceof Error ? error.message : String(error);
  return { status: isUnanswered(error) ? 'unknown' : 'failed', error: message.slice(0, MAX_ERROR_CHARS) };
}

/** True if the request got no answer: the service may have received it. */
function isUnanswered(error: unknown): boolean {
  if (!isBlockError(error) || error.code !== 'HTTP_FAILED' || !error.retryable) return false;
  return !isJsonObject(error.details) || error.details['status'] === undefined;
}

interface Call {
  isIdempotent: boolean;
  make(call: { idempotencyKey: string; step: string }): Promise<Json>;
}

/** Returns the call that a notification describes. Throws a BlockError if its tool cannot be called. */
async function prepareCall(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<Call> {
  const { row, number } = notification;
  if (number > MAX_NOTIFICATIONS)
    throw invalid(context, `has more than ${MAX_NOTIFICATIONS} notification tools: this one was not called`);
  const tool = await toolOf(context, notification, options);
  const { name, inputSchema } = tool.definition;
  if (tool.requiresApproval)
    throw invalid(context, `has a notification "${name}" whose calls need the approval of a person`);
  const params = isJsonObject(row['params']) ? row['params'] : {};
  const { values: args } = presetOf(inputSchema as JsonObject, params);
  const problems = tool.problemsOf(args);
  if (problems !== undefined)
    throw invalid(
      context,
      `has a notification "${name}" with arguments that do not match its schema: ${problems.replace(/\.$/, '')}`,
    );
  const { signal } = context;
  return {
    isIdempotent: tool.isIdempotent(args),
    make: ({ idempotencyKey, step }) =>
      tool.run(args, { idempotencyKey, step, signal, toolCallId: step, othersDone: Promise.resolve() }),
  };
}

/** Returns the single tool that a notification names. */
async function toolOf(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<ReadyTool> {
  const { row } = notification;
  // Throws for an invalid "usageControl".
  usageOf(context, row);
  // The log of the workflow's run would show the URL of the pause to everyone who may read the log.
  if (isWorkflowRow(row))
    throw invalid(context, 'has a workflow as a notification tool: workflows cannot send notifications');
  const tools = isMcpTool(row)
    ? await mcpTools(context, options, withParsedParams(context, notification), new Set())
    : await offeredTools(context, notification, options);
  const [tool] = tools;
  if (tool && tools.length === 1) return toReadyTool(context, tool, row);
  throw invalid(context, `has a notification that names ${tools.length} tools: name one of them`);
}

/** Returns the context with another signal. */
function withSignal(context: Context, signal: AbortSignal): Context {
  const { runId, workflowId, block, scope, attempt, idempotencyKey, clock, services } = context;
  return {
    ...{ runId, workflowId, block, scope, attempt, idempotencyKey, signal, clock, services },
    remainingMs: context.remainingMs,
    field: (name, mode) => context.field(name, mode),
    fields: () => context.fields(),
    sourceOutput: () => context.sourceOutput(),
    emit: (emission) => context.emit(emission),
    step: (key, work, options) => context.step(key, work, options),
    answers: () => context.answers(),
  };
}

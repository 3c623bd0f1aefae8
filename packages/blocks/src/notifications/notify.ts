import { isBlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, NotificationOutcome } from '@heddle/core/blocks';
import { presetOf } from '../agent/preset.ts';
import { toolConfigs, withParsedParams } from '../agent/tool-configs.ts';
import type { ToolConfig } from '../agent/tool-configs.ts';
import { offeredTools, usageControlOf, prepareTool } from '../agent/tools.ts';
import type { CallableTool } from '../agent/callable-tool.ts';
import { isWorkflowToolConfig } from '../agent/workflow-tools.ts';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { isMcpTool, mcpTools } from '../mcp/agent-tools.ts';
import type { BlocksOptions } from '../options.ts';

/** Maximum number of notifications of a pause. Further ones are not sent. */
const MAX_NOTIFICATIONS = 20;
/** Time limit of one call: a call without an answer must not keep the run from pausing. */
const CALL_TIMEOUT_MS = 60_000;
const MAX_ERROR_CHARS = 1000;

/** The outcome of a call. */
type CallOutcome = Pick<NotificationOutcome, 'status' | 'error'>;

/** An item of the field `notification`, and its number from 1. */
interface Notification extends ToolConfig {
  number: number;
}

/**
 * Calls the notification tools of a pause concurrently, with the arguments that the author has set. If the process is
 * killed during a call, the call is repeated only if the tool is idempotent; otherwise, its outcome is `unknown`.
 */
export async function notify(context: Context, options: BlocksOptions): Promise<NotificationOutcome[]> {
  let configs: ToolConfig[];
  try {
    configs = toolConfigs(context, 'notification').filter(({ config }) => config['usageControl'] !== 'none');
  } catch (error) {
    return [{ type: '', ...failedOutcome(context, error) }];
  }
  return Promise.all(
    configs.map((config, index) => sendNotification(context, { ...config, number: index + 1 }, options)),
  );
}

async function sendNotification(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<NotificationOutcome> {
  const { type, title } = notification.config;
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
  const cancelTimer = context.clock.at(context.clock.now() + CALL_TIMEOUT_MS, () =>
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
  error: `The service did not answer within ${CALL_TIMEOUT_MS / 1000} seconds. The notification may have been sent.`,
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
  const { config, number } = notification;
  if (number > MAX_NOTIFICATIONS)
    throw invalidConfigError(
      context,
      `has more than ${MAX_NOTIFICATIONS} notification tools: this one was not called`,
    );
  const tool = await toolOf(context, notification, options);
  const { name, inputSchema } = tool.definition;
  if (tool.requiresApproval)
    throw invalidConfigError(
      context,
      `has a notification "${name}" whose calls need the approval of a person`,
    );
  const params = isJsonObject(config['params']) ? config['params'] : {};
  const { values: args } = presetOf(inputSchema as JsonObject, params);
  const problems = tool.problemsOf(args);
  if (problems !== undefined)
    throw invalidConfigError(
      context,
      `has a notification "${name}" with arguments that do not match its schema: ${problems.replace(/\.$/, '')}`,
    );
  const { signal } = context;
  return {
    isIdempotent: tool.isIdempotent(args),
    make: ({ idempotencyKey, step }) =>
      tool.run(args, { idempotencyKey, step, signal, toolCallId: step, otherWorkDone: Promise.resolve() }),
  };
}

/** Returns the single tool that a notification names. */
async function toolOf(
  context: Context,
  notification: Notification,
  options: BlocksOptions,
): Promise<CallableTool> {
  const { config } = notification;
  // Throws for an invalid "usageControl".
  usageControlOf(context, config);
  // The log of the workflow's run would show the URL of the pause to everyone who may read the log.
  if (isWorkflowToolConfig(config))
    throw invalidConfigError(
      context,
      'has a workflow as a notification tool: workflows cannot send notifications',
    );
  const tools = isMcpTool(config)
    ? await mcpTools(context, options, withParsedParams(context, notification), new Set())
    : await offeredTools(context, notification, options);
  const [tool] = tools;
  if (tool && tools.length === 1) return prepareTool(context, tool, config);
  throw invalidConfigError(context, `has a notification that names ${tools.length} tools: name one of them`);
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

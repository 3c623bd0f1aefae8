import type { LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { isBlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, StepCall } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import type { ModelResponse } from '../models/call.ts';
import { problemOfEdit } from './approval-answer.ts';
import type { Decision, WaitingCall } from './approval-answer.ts';
import type { Approvals, DecidedCall } from './approvals.ts';
import { DEFAULT_RESULT_CHARS, LongResults, MAX_RESULT_CHARS, MIN_RESULT_CHARS } from './long-results.ts';
import type { CallableTool, ToolCallContext } from './callable-tool.ts';
import { numberOf } from './settings.ts';

/**
 * Maximum number of tool calls in one response. Further calls are refused, so that a model cannot start an unlimited
 * number of calls.
 */
const MAX_CALLS = 64;

const EDIT_NOTE = 'A person changed the arguments of this call to';
/** Maximum number of characters of changed arguments that the model gets. */
const MAX_CHANGED_CHARS = 10_000;

/** A tool call in a model's response. */
export type ToolCall = Extract<ModelResponse['content'][number], { type: 'tool-call' }>;

interface CallResult {
  result: Json;
  success: boolean;
}

/** A tool call, as the output of the block shows it. */
interface CallOutput extends CallResult {
  name: string;
  arguments: Json;
  /** Present if a person decided about the call. `requested`: the arguments of the model, if a person replaced them. */
  approval?: { decision: Decision['decision']; reason?: string; requested?: JsonObject };
}

/** A call that has ended. */
interface EndedCall {
  /** ROUND.NUMBER. */
  id: string;
  toolCallId: string;
  callOutput: CallOutput;
}

/** A call with arguments that match the schema. */
interface ReadyCall {
  /** ROUND.NUMBER. */
  id: string;
  toolCallId: string;
  name: string;
  tool: CallableTool;
  args: JsonObject;
}

/** The tool calls of one execution of an agent. Each is a step of the block, named `tool ROUND.NUMBER`. */
export class ToolCalls {
  readonly #context: Context;
  readonly #tools: ReadonlyMap<string, CallableTool>;
  readonly #approvals: Approvals | undefined;
  readonly #longResults: LongResults;
  readonly #endedCalls: CallOutput[] = [];
  /** Resolves when the calls of the response that are not child runs have ended. */
  #otherWorkDone: Promise<unknown> = Promise.resolve();

  constructor(
    context: Context,
    { tools, approvals }: { tools: ReadonlyMap<string, CallableTool>; approvals?: Approvals },
  ) {
    this.#context = context;
    this.#tools = tools;
    this.#approvals = approvals;
    const maxResultChars = numberOf(context, 'maxToolResultChars', MIN_RESULT_CHARS, MAX_RESULT_CHARS);
    this.#longResults = new LongResults(Math.floor(maxResultChars ?? DEFAULT_RESULT_CHARS), tools);
  }

  /**
   * Calls the tools of one response concurrently. When they have ended, returns their results for the model, or a pause
   * if calls wait for a person.
   */
  async call(
    round: number,
    calls: readonly ToolCall[],
  ): Promise<{ results: LanguageModelV4ToolResultPart[] } | { pause: JsonObject }> {
    const tasks = calls.map((call, index) => this.#handleCall(`${round}.${index + 1}`, index, call));
    const otherTasks = tasks.filter(
      (_, index) => !this.#tools.get(calls[index]?.toolName ?? '')?.callsWorkflow,
    );
    this.#otherWorkDone = Promise.allSettled(otherTasks);
    const outcomes = await Promise.all(tasks);
    const waitingCalls = outcomes.filter((outcome) => 'parameters' in outcome);
    if (waitingCalls.length > 0 && this.#approvals) return { pause: await this.#approvals.ask(waitingCalls) };
    const endedCalls = outcomes.filter((outcome) => 'callOutput' in outcome);
    this.#endedCalls.push(...endedCalls.map(({ callOutput }) => callOutput));
    return { results: endedCalls.map((call) => this.#resultForModel(call)) };
  }

  /** Returns the tools that the model may call now. */
  callableTools(): CallableTool[] {
    const readerTool = this.#longResults.tool();
    return [...this.#tools.values(), ...(readerTool ? [readerTool] : [])];
  }

  /** Returns the calls so far, as the output of the block shows them. */
  output(): JsonObject {
    return {
      list: this.#endedCalls.map((call) => ({ ...call })) as unknown as Json[],
      count: this.#endedCalls.length,
    };
  }

  async #handleCall(
    id: string,
    index: number,
    { toolCallId, toolName: name, input }: ToolCall,
  ): Promise<EndedCall | WaitingCall> {
    const modelArgs = parseInput(input);
    const call = this.#prepare({ id, toolCallId, name }, index, modelArgs);
    if (!('tool' in call))
      return { id, toolCallId, callOutput: { name, arguments: modelArgs ?? input, ...call } };
    const decidedCall = this.#approvals?.decisionOf(call);
    if (decidedCall) return { id, toolCallId, callOutput: await this.#applyDecision(call, decidedCall) };
    if (call.tool.requiresApproval) {
      const parameters = call.tool.definition.inputSchema as JsonObject;
      return { id, name, arguments: call.args, parameters };
    }
    return {
      id,
      toolCallId,
      callOutput: { name, arguments: modelArgs ?? input, ...(await this.#runStep(call)) },
    };
  }

  /** Returns a call that can be made, or the error result of a call that cannot. */
  #prepare(
    ids: Pick<ReadyCall, 'id' | 'toolCallId' | 'name'>,
    index: number,
    modelArgs: Json | undefined,
  ): ReadyCall | CallResult {
    const callableTools = this.callableTools();
    const tool = callableTools.find(({ definition }) => definition.name === ids.name);
    if (index >= MAX_CALLS) return failedResult(`One response may call at most ${MAX_CALLS} tools.`);
    if (!tool) {
      const names = callableTools.map(({ definition }) => definition.name).join(', ') || 'none';
      return failedResult(`There is no tool "${ids.name}". The tools are: ${names}.`);
    }
    if (!isJsonObject(modelArgs)) return failedResult('The arguments are not a JSON object.');
    const args = tool.normalizeArguments?.(modelArgs) ?? modelArgs;
    const problems = tool.problemsOf(args);
    if (problems !== undefined) return failedResult(`The arguments do not match the schema: ${problems}`);
    return { ...ids, tool, args };
  }

  /**
   * Makes or denies a call as a person has decided, and returns it. An allowed call gets only the arguments that the
   * person saw or entered.
   */
  async #applyDecision(call: ReadyCall, { decision, call: reviewedCall }: DecidedCall): Promise<CallOutput> {
    const { name, tool } = call;
    const isEdit = decision.decision === 'edit';
    const args = isEdit ? decision.arguments : reviewedCall.arguments;
    const { reason } = decision;
    const approval = {
      decision: decision.decision,
      ...(reason !== undefined && { reason }),
      ...(isEdit && { requested: reviewedCall.arguments }),
    };
    const commonOutput = { name, arguments: args, approval };
    if (decision.decision === 'deny')
      return {
        ...commonOutput,
        ...failedResult(`A person denied this call${reason === undefined ? '.' : `: ${reason}`}`),
      };
    // Recording the person's answer may have changed the arguments: secrets are removed.
    const editProblem = isEdit ? problemOfEdit(args, reviewedCall.arguments) : undefined;
    const mismatch = tool.problemsOf(args);
    const problem = editProblem ?? (mismatch && `do not match the schema: ${mismatch}`);
    if (problem !== undefined)
      return {
        ...commonOutput,
        ...failedResult(`This call was not made: the arguments that a person allowed ${problem}`),
      };
    return { ...commonOutput, ...(await this.#runStep({ ...call, args })) };
  }

  async #runStep({ id, toolCallId, name, tool, args }: ReadyCall): Promise<CallResult> {
    const context = this.#context;
    // Events are part of the step: a later attempt that only reads its recorded result does not publish them again.
    const makeCall = async ({ idempotencyKey }: StepCall): Promise<JsonObject> => {
      context.emit({ type: 'tool', phase: 'start', id: toolCallId, name });
      const { signal } = context;
      const toolCall = {
        idempotencyKey,
        signal,
        step: `tool ${id}`,
        toolCallId,
        otherWorkDone: this.#otherWorkDone,
      };
      const result = await runTool(tool, args, toolCall);
      const status = result.success ? 'success' : 'error';
      context.emit({ type: 'tool', phase: 'end', id: toolCallId, name, status });
      return { ...result };
    };
    try {
      const result = await context.step(`tool ${id}`, makeCall, { idempotent: tool.isIdempotent(args) });
      return result as unknown as CallResult;
    } catch (error) {
      if (!isBlockError(error) || error.code !== 'STEP_OUTCOME_UNKNOWN') throw error;
      return failedResult(
        'This call was interrupted. It may have taken effect: find out before you repeat it.',
      );
    }
  }

  /**
   * Returns the result of a call as the model gets it. If a person changed the arguments, the text begins with the new
   * arguments.
   */
  #resultForModel({ id, toolCallId, callOutput }: EndedCall): LanguageModelV4ToolResultPart {
    const { name: toolName, result, success, approval } = callOutput;
    const fullText = typeof result === 'string' ? result : JSON.stringify(result);
    const text = this.#tools.get(toolName)?.keepsFullResults
      ? fullText
      : this.#longResults.textForModel(id, fullText);
    const isEdited = approval?.requested !== undefined;
    const editNote = isEdited
      ? `${EDIT_NOTE} ${JSON.stringify(callOutput.arguments).slice(0, MAX_CHANGED_CHARS)}\n`
      : '';
    const value = `${editNote}${text}`;
    const output = success ? { type: 'text' as const, value } : { type: 'error-text' as const, value };
    return { type: 'tool-result', toolCallId, toolName, output };
  }
}

/** Returns the arguments of a call; undefined if they are not JSON. */
export function parseInput(input: string): Json | undefined {
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input) as Json;
  } catch {
    return undefined;
  }
}

function failedResult(result: string): CallResult {
  return { result, success: false };
}

/** Calls a tool. Its failure is a result too, so that a later attempt of the block does not repeat the call. */
async function runTool(tool: CallableTool, args: JsonObject, call: ToolCallContext): Promise<CallResult> {
  try {
    return { result: await tool.run(args, call), success: true };
  } catch (error) {
    // If the block was stopped, the call was interrupted and its effect is unknown.
    call.signal.throwIfAborted();
    return failedResult(error instanceof Error ? error.message : String(error));
  }
}

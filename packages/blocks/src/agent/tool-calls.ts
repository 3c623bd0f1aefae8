import type { LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { isBlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, StepCall } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import type { Answer } from '../models/call.ts';
import type { ReadyTool } from './ready-tool.ts';

/** Calls of tools in one answer; the others are refused, so that a model cannot start any number at once. */
const MAX_CALLS = 64;
/** Characters of a tool's result that the model gets. */
const MAX_RESULT_CHARS = 100_000;

/** A call of a tool in an answer of a model. */
export type ToolCall = Extract<Answer['content'][number], { type: 'tool-call' }>;

interface CallResult {
  result: Json;
  success: boolean;
}

/** A call of a tool, as the output of the block shows it. */
interface ShownCall extends CallResult {
  name: string;
  arguments: Json;
}

/** The calls of tools of one execution of an agent. Each is a step of the block, named `tool ROUND.NUMBER`. */
export class ToolCalls {
  readonly #context: Context;
  readonly #tools: ReadonlyMap<string, ReadyTool>;
  readonly #made: ShownCall[] = [];

  constructor(context: Context, tools: ReadonlyMap<string, ReadyTool>) {
    this.#context = context;
    this.#tools = tools;
  }

  /** Calls the tools of one answer at the same time. Returns their results for the model. */
  async call(round: number, calls: readonly ToolCall[]): Promise<LanguageModelV4ToolResultPart[]> {
    const made = await Promise.all(calls.map((call, index) => this.#call({ round, index }, call)));
    return made.map(({ id, ...shown }) => {
      const { name: toolName, result, success } = shown;
      this.#made.push(shown);
      const value = shortened(typeof result === 'string' ? result : JSON.stringify(result));
      const output = success ? { type: 'text' as const, value } : { type: 'error-text' as const, value };
      return { type: 'tool-result' as const, toolCallId: id, toolName, output };
    });
  }

  /** Returns the calls so far, as the output of the block shows them. */
  shown(): JsonObject {
    return { list: this.#made.map((call) => ({ ...call })), count: this.#made.length };
  }

  async #call(
    at: { round: number; index: number },
    { toolCallId: id, toolName: name, input }: ToolCall,
  ): Promise<ShownCall & { id: string }> {
    const args = parsedInput(input);
    const { result, success } = await this.#resultOf({ ...at, id }, name, args);
    return { id, name, arguments: args ?? input, result, success };
  }

  /** Returns the result of a call. Whatever goes wrong is one too, which the model reads. */
  async #resultOf(
    { round, index, id }: { round: number; index: number; id: string },
    name: string,
    given: Json | undefined,
  ): Promise<CallResult> {
    const tool = this.#tools.get(name);
    if (index >= MAX_CALLS) return failed(`One answer may call at most ${MAX_CALLS} tools.`);
    if (!tool) {
      const names = [...this.#tools.keys()].join(', ') || 'none';
      return failed(`There is no tool "${name}". The tools are: ${names}.`);
    }
    if (!isJsonObject(given)) return failed('The arguments are not a JSON object.');
    const args = tool.read?.(given) ?? given;
    const problems = tool.problemsOf(args);
    if (problems !== undefined) return failed(`The arguments do not match the schema: ${problems}`);
    return this.#step(`tool ${round}.${index + 1}`, { id, name, tool, args });
  }

  async #step(
    key: string,
    { id, name, tool, args }: { id: string; name: string; tool: ReadyTool; args: JsonObject },
  ): Promise<CallResult> {
    const context = this.#context;
    // Events are a part of the step: an attempt that repeats none of it does not publish them again.
    const call = async ({ idempotencyKey }: StepCall): Promise<JsonObject> => {
      context.emit({ type: 'tool', phase: 'start', id, name });
      const result = await callResult(tool, args, { context, idempotencyKey });
      context.emit({ type: 'tool', phase: 'end', id, name, status: result.success ? 'success' : 'error' });
      return { ...result };
    };
    try {
      const result = await context.step(key, call, { idempotent: tool.isIdempotent(args) });
      return result as unknown as CallResult;
    } catch (error) {
      if (!isBlockError(error) || error.code !== 'STEP_OUTCOME_UNKNOWN') throw error;
      return failed('This call was interrupted. It may have taken effect: find out before you repeat it.');
    }
  }
}

/** Returns the arguments of a call; undefined if they are no JSON. */
export function parsedInput(input: string): Json | undefined {
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input) as Json;
  } catch {
    return undefined;
  }
}

function failed(result: string): CallResult {
  return { result, success: false };
}

/** Calls a tool. Its failure is a result too, so that a later attempt of the block does not repeat the call. */
async function callResult(
  tool: ReadyTool,
  args: JsonObject,
  { context, idempotencyKey }: { context: Context; idempotencyKey: string },
): Promise<CallResult> {
  const { signal } = context;
  try {
    return { result: await tool.run(args, { idempotencyKey, signal }), success: true };
  } catch (error) {
    // Interrupted: whether it took effect is unknown.
    signal.throwIfAborted();
    return failed(error instanceof Error ? error.message : String(error));
  }
}

/** The beginning and the end of a text that is too long for the model. */
function shortened(text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text;
  const half = MAX_RESULT_CHARS / 2;
  return `${text.slice(0, half)}\n[${text.length - MAX_RESULT_CHARS} characters left out]\n${text.slice(-half)}`;
}

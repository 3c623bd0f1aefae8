import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { AgentToolCall } from '../options.ts';
import type { SchemaCheck } from './json-schema.ts';

/** A tool of an agent, before its schema is compiled and the settings of its configuration in `tools` are added. */
export interface OfferedTool {
  definition: LanguageModelV4FunctionTool;
  /** Returns the arguments as the tool reads them, before they are checked. Absent: unchanged. */
  normalizeArguments?(args: JsonObject): JsonObject;
  /** True: a call with these arguments that was interrupted may be repeated. */
  isIdempotent(args: JsonObject): boolean;
  /** Whether a person approves each call. Absent: the tool's configuration decides. */
  approval?: 'always' | 'never';
  /** True: results are not shortened for the model. */
  keepsFullResults?: true;
  /** True: each call is a child run. */
  callsWorkflow?: true;
  run(args: JsonObject, call: ToolCallContext): Promise<Json>;
}

/** The context of one call of a tool. */
export interface ToolCallContext extends Pick<AgentToolCall, 'idempotencyKey' | 'signal'> {
  /** The name of the step that records the call. */
  step: string;
  /** The id that the model has given to the call. */
  toolCallId: string;
  /** Resolves when all calls of the response that are not child runs have ended. */
  otherWorkDone: Promise<unknown>;
}

/** A tool of an agent with the schema and settings that its calls need. */
export interface CallableTool extends OfferedTool {
  /** Returns how arguments differ from the schema; undefined if they match. */
  problemsOf: SchemaCheck;
  /** True if the model must call it first. */
  forced: boolean;
  /** True if a person approves each call. */
  requiresApproval: boolean;
}

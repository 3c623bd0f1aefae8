import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { AgentToolCall } from '../options.ts';
import type { SchemaCheck } from './json-schema.ts';

/** A tool of an agent, without what its row and its schema add. */
export interface OfferedTool {
  definition: LanguageModelV4FunctionTool;
  /** Returns the arguments as the tool reads them, before they are checked. Absent: unchanged. */
  read?(args: JsonObject): JsonObject;
  /** True: a call with these arguments that was interrupted may be repeated. */
  isIdempotent(args: JsonObject): boolean;
  /** Whether a person approves each call. Absent: as the row of the agent says. */
  approval?: 'always' | 'never';
  run(args: JsonObject, call: Omit<AgentToolCall, 'params' | 'credential'>): Promise<Json>;
}

/** A tool of an agent, ready to be called. */
export interface ReadyTool extends OfferedTool {
  /** Returns how arguments differ from the schema of the parameters. */
  problemsOf: SchemaCheck;
  /** The model must call it first. */
  forced: boolean;
  /** A person approves each call. */
  requiresApproval: boolean;
}

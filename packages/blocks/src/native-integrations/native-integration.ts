import type { Json, JsonObject } from '@heddle/core/blocks';
import type { HostFeature } from '@heddle/core/drafts';
import type { Argument } from '../integrations/integration.ts';
import type { Context } from '../define.ts';

/** An argument of a native integration's tool. */
export interface NativeToolArgument extends Argument {
  /**
   * True for an SQL statement: references in the field of a block become bound parameters. An item of the field "tools"
   * of an agent cannot set it.
   */
  isSqlStatement?: true;
  /** True if only blocks have the argument: models do not get it. */
  blocksOnly?: true;
  /**
   * Not offered to models. An item of the field "tools" of an agent can set it only together with this other argument,
   * the destination of the call: otherwise a model could choose who receives it.
   */
  dependsOn?: string;
}

/** A tool that uses data of the host, or a client library because its service does not use plain HTTP. */
export interface NativeTool {
  description: string;
  arguments: { readonly [name: string]: NativeToolArgument };
  /** True if a call may be repeated. */
  idempotent: boolean;
  /** The host data that every call needs. Absent: some calls need no host data. */
  requiredFeature?: HostFeature;
  /** Returns the result. Throws a BlockError. */
  run(call: NativeToolCall): Promise<Json>;
}

/** A call of a native integration's tool. */
export interface NativeToolCall {
  args: JsonObject;
  /** The values of the references of statements, in the order of their numbers. */
  values: readonly Json[];
  /** The server and the authentication, as the author has set them. */
  settings: JsonObject;
  /** Id of the stored credential that the author has named. */
  credentialId: string | undefined;
  /** The same for all attempts of the call. */
  idempotencyKey: string;
  context: Context;
}

/** A native integration: an integration whose tools are code, because they use a client library or data of the host. */
export interface NativeIntegration {
  /**
   * Name of the service: for `--service`, for `--credential`, and as provider of stored credentials. For data of the
   * host, only a label.
   */
  service: string;
  title: string;
  /** What its blocks do, in one sentence. Default: they use the service. */
  summary?: string;
  /** The public documentation of the service. Absent: the tools use data of the host. */
  docsUrl?: string;
  /** Instructions for setting the server and the authentication, as Markdown, for its page. */
  setupInstructions: string;
  /** Block types, and `type` of agents' tools. */
  types: readonly string[];
  /** Fields that only authors set, never models. */
  settings: { readonly [name: string]: Argument };
  /** The tools by operations of blocks and of agents' tools. The first is the default operation of blocks. */
  operations: { readonly [operation: string]: string };
  /** The default operation by block type, if it is not the first operation. */
  defaultOperations?: { readonly [type: string]: string };
  tools: { readonly [id: string]: NativeTool };
  /** The keys of results, each with a description. */
  outputs: { readonly [name: string]: string };
}

/** Returns the integration unchanged, with its type. */
export function defineNativeIntegration(integration: NativeIntegration): NativeIntegration {
  return integration;
}

/** Returns the tools by operation. The first operation is the default for blocks of this type. */
export function operationsOf(
  { operations, defaultOperations = {} }: Pick<NativeIntegration, 'operations' | 'defaultOperations'>,
  type: string,
): NativeIntegration['operations'] {
  const defaultOperation = Object.hasOwn(defaultOperations, type) ? defaultOperations[type] : undefined;
  const toolId = defaultOperation === undefined ? undefined : operations[defaultOperation];
  return defaultOperation === undefined || toolId === undefined
    ? operations
    : { [defaultOperation]: toolId, ...operations };
}

/** Returns the JSON Schema of the arguments of a tool. */
export function argumentsSchema({ arguments: toolArguments }: NativeTool): JsonObject {
  const entries = Object.entries(toolArguments);
  const required = entries.flatMap(([name, entry]) => (entry.required ? [name] : []));
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

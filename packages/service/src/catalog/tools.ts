import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Credential } from '@heddle/engine';
import * as z from 'zod';
import { valueTypeOf, propertiesOf } from './fields.ts';
import { loadOnce } from './load-once.ts';
import { matchesSearch, pageOfItems } from './page.ts';
import type { CatalogPosition, PageQuery } from './page.ts';

/** A tool that a host has registered. `AgentTool` of `@heddle/blocks` has the same shape. */
export interface CatalogTool {
  id: string;
  /** Default: the id. */
  name?: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
  /** Returns the result. The caller sees the message of a thrown error. Absent: the tool runs only in workflows. */
  run?(
    args: JsonObject,
    call: {
      params: JsonObject;
      credential: () => Promise<Credential>;
      idempotencyKey: string;
      signal: AbortSignal;
    },
  ): Promise<Json>;
}

/**
 * A tool that runs only in workflows, where it has credentials and limits. `describeTools` of `@heddle/blocks` returns
 * these.
 */
export type DescribedTool = Pick<CatalogTool, 'id' | 'description' | 'parameters'>;

/** A tool in a list. */
export interface ToolSummary {
  id: string;
  name: string;
  description: string;
  /** Always `none`: the service has no API key for the provider of a tool. */
  hostedApiKey: 'none';
}

/** A tool with its arguments. */
export interface ToolDetail extends ToolSummary {
  params: { [name: string]: ToolParam };
  outputs: JsonObject;
}

interface ToolParam {
  type: string;
  required: boolean;
  description?: string;
  default?: Json;
  items?: Json;
}

export interface ToolsQuery extends PageQuery {
  search?: string | undefined;
  hostedApiKey?: string | undefined;
  oauthProvider?: string | undefined;
  sortBy: 'id' | 'name';
}

/** The result of a call: the output, or why there is none. */
export interface ToolOutcome {
  status: 'completed' | 'failed';
  output: Json;
  error: string | null;
}

/** The arguments and limits of a call. */
interface ToolRequest {
  args: JsonObject;
  /** The same for each retry of the call. */
  idempotencyKey: string;
  timeoutMs: number;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
}

/** Maximum size of an output, in bytes. */
const MAX_OUTPUT_BYTES = 8 * 2 ** 20;

/** A registered tool with the schema of its arguments, or a described tool. */
interface ToolEntry {
  tool: CatalogTool;
  schema?: z.ZodType;
}

/** The registered and the described tools of a host. A registered tool replaces a described tool with the same id. */
export class Tools {
  readonly #registeredTools: ReadonlyMap<string, ToolEntry>;
  readonly #loadTools: () => Promise<ReadonlyMap<string, ToolEntry>>;

  /**
   * Throws a RangeError for two registered tools with the same id, and for parameters that are not the schema of an
   * object.
   */
  constructor(
    tools: readonly CatalogTool[],
    describe: () => Promise<readonly DescribedTool[]> = async () => [],
  ) {
    const entries = new Map<string, ToolEntry>();
    for (const tool of tools) {
      if (entries.has(tool.id)) throw new RangeError(`There are two tools with the id "${tool.id}".`);
      entries.set(tool.id, { tool, schema: schemaOf(tool) });
    }
    this.#registeredTools = entries;
    this.#loadTools = loadOnce(async () => {
      const descriptions = await describe();
      return new Map([...descriptions.map((tool): [string, ToolEntry] => [tool.id, { tool }]), ...entries]);
    });
  }

  /** Returns a page of the tools, and the position of its last tool if more follow. */
  async list(query: ToolsQuery): Promise<{ page: ToolSummary[]; next: CatalogPosition | undefined }> {
    const { search, hostedApiKey = 'none', oauthProvider, sortBy } = query;
    if (hostedApiKey !== 'none' || oauthProvider !== undefined) return { page: [], next: undefined };
    const summaries = [...(await this.#loadTools()).values()]
      .map(({ tool }) => summaryOf(tool))
      .filter(({ id, name, description }) => matchesSearch(search, [id, name, description]));
    return pageOfItems(summaries, query, (tool) => [tool[sortBy], tool.id]);
  }

  /** Returns the tool with its arguments; undefined for an unknown tool. */
  async find(id: string): Promise<ToolDetail | undefined> {
    const tool = (await this.#loadTools()).get(id)?.tool;
    return tool && { ...summaryOf(tool), params: paramsOf(tool.parameters), outputs: {} };
  }

  /** Returns where and why the arguments do not fit a registered tool; empty if they fit. */
  validateArguments(id: string, args: JsonObject): { path: string; message: string }[] {
    const result = this.#registeredTools.get(id)?.schema?.safeParse(args);
    return (result?.error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
  }

  /** Runs the tool once. Returns a failure if it throws, or does not end in time. */
  async run(id: string, { args, idempotencyKey, timeoutMs, signal }: ToolRequest): Promise<ToolOutcome> {
    const tool = this.#registeredTools.get(id)?.tool;
    if (!tool?.run)
      return failedOutcome('The tool runs only in workflows: in an agent, or in a block of its service.');
    const timeout = AbortSignal.timeout(timeoutMs);
    const runSignal = AbortSignal.any([signal, timeout]);
    try {
      const call = { params: {}, credential: rejectCredential, idempotencyKey, signal: runSignal };
      const output = tool.run(args, call);
      return completedOutcome(await Promise.race([output, rejectOnAbort(runSignal)]));
    } catch (error) {
      if (timeout.aborted) return failedOutcome(`The tool did not end within ${timeoutMs / 1000} seconds.`);
      return failedOutcome(error instanceof Error ? error.message : String(error));
    }
  }
}

/** A call outside a run has no credential: nothing would redact its secret. */
function rejectCredential(): Promise<never> {
  return Promise.reject(new Error('The tool needs a stored credential, which it has only in a workflow.'));
}

function summaryOf({ id, name = id, description }: CatalogTool): ToolSummary {
  return { id, name, description, hostedApiKey: 'none' };
}

function paramsOf(parameters: JsonObject): { [name: string]: ToolParam } {
  const required = getOwn(parameters, 'required');
  const requiredNames = new Set(Array.isArray(required) ? required : []);
  return Object.fromEntries(
    propertiesOf(parameters).map(([name, schema]) => {
      const [description, defaultValue] = [getOwn(schema, 'description'), getOwn(schema, 'default')];
      const items = getOwn(schema, 'items');
      const param: ToolParam = {
        type: valueTypeOf(schema),
        required: requiredNames.has(name),
        ...(typeof description === 'string' && { description }),
        ...(defaultValue !== undefined && { default: defaultValue }),
        ...(items !== undefined && { items }),
      };
      return [name, param];
    }),
  );
}

function schemaOf({ id, parameters }: CatalogTool): z.ZodType {
  if (!isJsonObject(parameters) || getOwn(parameters, 'type') !== 'object')
    throw new RangeError(`The parameters of the tool "${id}" are not the schema of an object.`);
  try {
    return z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    throw new RangeError(`The parameters of the tool "${id}" cannot be read.`, { cause: error });
  }
}

/** Rejects when the signal is aborted, because a tool may ignore the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function completedOutcome(output: Json): ToolOutcome {
  const text = JSON.stringify(output) as string | undefined;
  if (text === undefined) return { status: 'completed', output: null, error: null };
  if (Buffer.byteLength(text) > MAX_OUTPUT_BYTES)
    return failedOutcome(`The output is larger than ${MAX_OUTPUT_BYTES / 2 ** 20} MiB.`);
  return { status: 'completed', output, error: null };
}

function failedOutcome(error: string): ToolOutcome {
  return { status: 'failed', output: null, error };
}

import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { OfferedTool } from './callable-tool.ts';

const MAX_TOOL_MS = 300_000;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Code of a tool. */
export interface ToolCode {
  language: 'javascript' | 'python';
  code: string;
  /** JSON Schema of the arguments. */
  schema: JsonObject;
}

/** Returns the tool whose code is in this item of an agent's `tools`. Throws BLOCK_CONFIG_INVALID. */
export function createCodeTool(context: Context, config: JsonObject): OfferedTool {
  const schema = isJsonObject(config['schema']) ? config['schema'] : {};
  const definition = isJsonObject(schema['function']) ? schema['function'] : {};
  const { parameters } = definition;
  const [name, description] = [textOf(definition['name']), textOf(definition['description'])];
  const [code, language] = [textOf(config['code']), config['language'] ?? 'javascript'];
  if (name === '' || code.trim() === '') {
    const title = textOf(config['title']) || 'without a title';
    throw invalidConfigError(context, `has a tool (${title}) without code, or without a schema with a name`);
  }
  if (language !== 'javascript' && language !== 'python')
    throw invalidConfigError(
      context,
      `has a tool "${name}" with an invalid language: it must be javascript or python`,
    );
  const inputSchema = isJsonObject(parameters) ? parameters : { type: 'object', properties: {} };
  return {
    definition: {
      type: 'function',
      name,
      description,
      inputSchema: inputSchema as never,
    },
    isIdempotent: () => false,
    run: (args, { signal }) => runCode(context, { language, code, schema: inputSchema }, args, signal),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the time limit of a call in milliseconds: the shortest of the tool's, the block's and the operator's. */
function timeLimitMsOf({ remainingMs, services }: Context): number {
  const { wallMs } = services.run.codeLimits ?? {};
  return Math.max(1, Math.min(MAX_TOOL_MS, remainingMs ?? MAX_TOOL_MS, wallMs ?? MAX_TOOL_MS));
}

/**
 * Runs the code of a tool in the sandbox. The code gets all arguments as `params`, and declared arguments also as
 * variables: an undeclared argument could shadow a name that the code uses. Throws an error with the message of the
 * code's error.
 */
export async function runCode(
  context: Context,
  { language, code, schema }: ToolCode,
  args: JsonObject,
  signal: AbortSignal,
): Promise<Json> {
  const sandbox = await context.services.sandbox();
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const variables = Object.entries(args).filter(
    ([name]) => IDENTIFIER.test(name) && Object.hasOwn(properties, name),
  );
  const outcome = await sandbox.run({
    runId: context.runId,
    language,
    code,
    values: {},
    globals: {
      params: JSON.stringify(args),
      ...Object.fromEntries(variables.map(([name, value]) => [name, JSON.stringify(value)])),
    },
    limits: { wallMs: timeLimitMsOf(context) },
    signal,
  });
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.json === undefined ? null : (JSON.parse(outcome.json) as Json);
}

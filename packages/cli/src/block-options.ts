import { isAbsolute } from 'node:path';
import type { BlocksOptions, ToolFile } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import type { IsolationLevel } from '@heddle/sandbox';
import { readEnv } from './env.ts';
import type { Env } from './env.ts';
import { maxCostOf, modelOptionsOf, serviceRatesOf, spendingArgs } from './spending-options.ts';
import type { SpendingOptions } from './spending-options.ts';
import { UsageError } from './usage-error.ts';

/** Options for the network access and the resources of blocks. */
export interface BlockOptions extends SpendingOptions {
  /** `HOST[:PORT]` or `CIDR[:PORT]`. */
  allowHost?: readonly string[];
  denyHost?: readonly string[];
  /** Minimum isolation of code. */
  isolation?: IsolationLevel | undefined;
  /** Maximum size of a result of code as JSON, in MiB. */
  resultLimit?: number;
  /** `NAME=URL`. */
  service?: readonly string[];
  /** `NAME=VALUE`. */
  credential?: readonly string[];
  defaultModel?: string;
  /** Files of `heddle tools import`. */
  tools?: readonly string[];
  /** `NAME=URL`. */
  mcp?: readonly string[];
  /** `NAME=PROGRAM ARGUMENTS`. */
  mcpCommand?: readonly string[];
  /** `NAME=TOOL,TOOL`. */
  mcpTools?: readonly string[];
  /** Id of the workspace whose stored credentials and skills blocks use. */
  workspace?: string;
}

/** Memory of an isolate, in MiB. A result exists there several times, as values and as strings. */
const MEMORY = { min: 64, max: 256, perResultMiB: 12 };

const DESTINATION_EXAMPLES = 'Examples: api.internal:8080, 10.1.0.0/16, localhost:*';

/** Returns the egress policy from the options, HEDDLE_ALLOW_HOSTS and HEDDLE_DENY_HOSTS. Throws usage errors. */
export async function egressOf(
  { allowHost = [], denyHost = [] }: BlockOptions,
  env: Env,
): Promise<NonNullable<EngineOptions['egress']>> {
  const exceptions = [...allowHost, ...listFromEnv(env, 'HEDDLE_ALLOW_HOSTS')];
  const denyHosts = [...denyHost, ...listFromEnv(env, 'HEDDLE_DENY_HOSTS')];
  const destinations = [...exceptions, ...denyHosts];
  if (destinations.length > 0) {
    const { isDestination } = await import('@heddle/sandbox/egress');
    const invalid = destinations.find((text) => !isDestination(text));
    if (invalid !== undefined)
      throw new UsageError(`"${invalid}" is neither HOST[:PORT] nor CIDR[:PORT].`, DESTINATION_EXAMPLES);
  }
  return {
    hint: 'use --allow-host {target}',
    ...(exceptions.length > 0 && { exceptions }),
    ...(denyHosts.length > 0 && { denyHosts }),
  };
}

function listFromEnv(env: Env, name: string): string[] {
  return (env.value(name) ?? '').split(/[\s,]+/).filter((text) => text !== '');
}

/** Returns the options of an engine or worker for running blocks. Throws usage errors. */
export async function blockEngineOptions(
  options: BlockOptions,
): Promise<
  Required<
    Pick<
      EngineOptions,
      'egress' | 'sandbox' | 'blocks' | 'services' | 'credentials' | 'maxCost' | 'serviceRates'
    >
  >
> {
  const {
    isolation,
    resultLimit,
    service = [],
    credential = [],
    defaultModel,
    mcp = [],
    tools = [],
  } = options;
  const mcpUrls = Object.entries(pairsOf('--mcp', mcp, 'docs=https://mcp.example.com/mcp'));
  const { blocks } = await import('@heddle/blocks');
  return {
    maxCost: maxCostOf(options),
    serviceRates: serviceRatesOf(options),
    blocks: blocks({
      ...modelOptionsOf(options),
      variables: process.env,
      ...(defaultModel !== undefined && { defaultModel }),
      ...(tools.length > 0 && { toolFiles: await readToolFiles(tools) }),
      mcp: mcpServersOf(options),
    }),
    services: {
      ...pairsOf('--service', service, 'openai=http://localhost:8080/v1'),
      ...Object.fromEntries(mcpUrls.map(([name, url]) => [`mcp-${name}`, url])),
    },
    credentials: pairsOf('--credential', credential, 'openai=KEY'),
    egress: await egressOf(options, readEnv()),
    sandbox: {
      ...(isolation !== undefined && { isolation: { minimum: isolation } }),
      ...(resultLimit !== undefined && { resultMiB: resultLimit, memoryMiB: memoryMiBFor(resultLimit) }),
    },
  };
}

/** Reads tool files. Throws usage errors. */
export async function readToolFiles(files: readonly string[], option = '--tools'): Promise<ToolFile[]> {
  const [{ readJsonFile }, { readToolFile }] = await Promise.all([
    import('./input/json-source.ts'),
    import('@heddle/blocks'),
  ]);
  const toolFiles: ToolFile[] = [];
  for (const file of files) toolFiles.push(await readToolFile(await readJsonFile(option, file), file));
  return toolFiles;
}

const COMMAND_EXAMPLE = 'files=/usr/bin/node /opt/files/server.js';

/** Returns the commands of MCP servers and the tools that workflows may call, by server name. Throws usage errors. */
function mcpServersOf({
  mcp = [],
  mcpCommand = [],
  mcpTools = [],
}: BlockOptions): NonNullable<BlocksOptions['mcp']> {
  const tools = listsOf('--mcp-tools', mcpTools, 'docs=search,read');
  const commands = pairsOf('--mcp-command', mcpCommand, COMMAND_EXAMPLE);
  const urls = pairsOf('--mcp', mcp, 'docs=https://mcp.example.com/mcp');
  const duplicateName = Object.keys(commands).find((name) => Object.hasOwn(urls, name));
  if (duplicateName !== undefined)
    throw new UsageError(
      `The MCP server "${duplicateName}" has a URL and a command.`,
      `Remove --mcp or --mcp-command.`,
    );
  const names = new Set([...Object.keys(commands), ...Object.keys(tools)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      {
        ...(tools[name] && { tools: tools[name] }),
        ...(commands[name] !== undefined && { command: commandOf(commands[name]) }),
      },
    ]),
  );
}

/** Returns a program and its arguments. Throws a usage error. */
function commandOf(text: string): [string, ...string[]] {
  const words = text.startsWith('[')
    ? parseJsonOrUndefined(text)
    : text.split(' ').filter((word) => word !== '');
  const [program, ...args] = Array.isArray(words) ? words : [];
  if (typeof program === 'string' && isAbsolute(program) && args.every((arg) => typeof arg === 'string'))
    return [program, ...args];
  throw new UsageError(
    '--mcp-command takes NAME=PROGRAM ARGUMENTS, with an absolute path of the program.',
    `Example: --mcp-command '${COMMAND_EXAMPLE}'`,
  );
}

function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the lists of an option that takes `NAME=VALUE,VALUE`. Throws usage errors. */
export function listsOf(
  option: string,
  pairs: readonly string[],
  example: string,
): { [name: string]: string[] } {
  const entries = Object.entries(pairsOf(option, pairs, example));
  return Object.fromEntries(entries.map(([name, list]) => [name, list.split(',')]));
}

/** Returns the `NAME=VALUE` pairs of an option. Errors do not show values, which may be keys. */
export function pairsOf(
  option: string,
  pairs: readonly string[],
  example: string,
): { [name: string]: string } {
  return Object.fromEntries(
    pairs.map((pair) => {
      const separator = pair.indexOf('=');
      if (separator > 0 && separator < pair.length - 1)
        return [pair.slice(0, separator), pair.slice(separator + 1)];
      throw new UsageError(`${option} takes NAME=VALUE.`, `Example: ${option} ${example}`);
    }),
  );
}

function memoryMiBFor(resultMiB: number): number {
  return Math.min(MEMORY.max, Math.max(MEMORY.min, Math.ceil(MEMORY.perResultMiB * resultMiB)));
}

/** Returns the options about services, models and egress as arguments for a later command, without credentials. */
export function blockOptionArgs(options: BlockOptions): string[] {
  const { allowHost = [], denyHost = [], service = [], mcp = [], mcpTools = [], tools = [] } = options;
  const { mcpCommand = [] } = options;
  const { defaultModel, workspace } = options;
  return [
    ...service.flatMap((pair) => ['--service', pair]),
    ...mcp.flatMap((pair) => ['--mcp', pair]),
    ...mcpCommand.flatMap((pair) => ['--mcp-command', pair]),
    ...mcpTools.flatMap((pair) => ['--mcp-tools', pair]),
    ...tools.flatMap((file) => ['--tools', file]),
    ...(defaultModel === undefined ? [] : ['--default-model', defaultModel]),
    ...spendingArgs(options),
    ...(workspace === undefined ? [] : ['--workspace', workspace]),
    ...allowHost.flatMap((text) => ['--allow-host', text]),
    ...denyHost.flatMap((text) => ['--deny-host', text]),
  ];
}

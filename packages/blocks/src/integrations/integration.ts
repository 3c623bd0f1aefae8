import type { Json, JsonObject } from '@heddle/core/blocks';
import type { FileRecord } from '@heddle/core/files';
import { readToolFile } from '../openapi/file.ts';
import type { ServiceTool, ToolFile } from '../openapi/file.ts';

/** An argument of a tool: its JSON Schema, the fields that set it, and its location in the request. */
export interface Argument {
  schema: JsonObject;
  /** True if the tool cannot be called without it. */
  required?: true;
  /** Block fields that set it. If two have different values, the block fails. Default: the field with its name. */
  fields?: readonly string[];
  /** Default: the path if it has a placeholder `{name}`; none if the tool has a body or `prepare`; else the query. */
  in?: 'query' | 'header';
  /** The name in the request. Default: the name of the argument. */
  name?: string;
}

/** A tool of an integration. Absent settings have the defaults of `ServiceTool` or of the integration. */
export interface IntegrationTool extends Partial<
  Pick<
    ServiceTool,
    'json' | 'query' | 'headers' | 'paging' | 'answer' | 'keyHeader' | 'body' | 'accept' | 'upload'
  >
> {
  description: string;
  method: ServiceTool['method'];
  path: string;
  arguments: { readonly [name: string]: Argument };
  /** True if a call may be repeated. Default: true for GET, HEAD, PUT and DELETE. */
  idempotent?: boolean;
  /** True if a call changes nothing. Default: true for GET and HEAD. */
  readOnly?: boolean;
  /** Returns the arguments in the form that the service requires. Throws an ArgumentError. */
  prepare?(args: JsonObject, context: PrepareContext): JsonObject | Promise<JsonObject>;
}

/** The context of `prepare`. */
export interface PrepareContext {
  /** Returns the content of a run file as Base64; undefined if the run has no such file. */
  readFileAsBase64: (record: FileRecord) => Promise<string | undefined>;
}

/** A service with its tools, as data. */
export interface Integration {
  /** The name for `--service` and `--credential`, and the provider of stored credentials. */
  service: string;
  title: string;
  /** The public documentation that the definition follows. */
  docsUrl: string;
  /** The base URL. Undefined: each account has its own, which the operator configures. */
  baseUrl: string | undefined;
  credential: NonNullable<ServiceTool['credential']>['schemes'][string];
  /** The field of blocks that names the account: the host of the base URL, or the first part of the host. */
  accountField?: string;
  /** Headers of all requests. */
  headers?: { readonly [name: string]: string };
  /** The rate limit of each credential, if the service documents it. */
  rate?: ToolFile['services'][string]['rate'];
  /** How responses report a failed call. */
  answer?: ServiceTool['answer'];
  /** Block types, and `type` of agents' tools. */
  types: readonly string[];
  /** The tools by operations of blocks and of agents' tools. The first is the default operation of blocks. */
  operations: { readonly [operation: string]: string };
  tools: { readonly [id: string]: IntegrationTool };
}

/** Returns the integration unchanged, with its type. */
export function defineIntegration(integration: Integration): Integration {
  return integration;
}

/** Returns the definition of a string argument. */
export function text(
  description: string,
  options: Omit<Argument, 'schema'> & { schema?: JsonObject } = {},
): Argument {
  return { ...options, schema: { type: 'string', description, ...options.schema } };
}

/** Returns the definition of an integer argument. */
export function integer(
  description: string,
  [minimum, maximum]: readonly [number, number],
  options: Omit<Argument, 'schema'> = {},
): Argument {
  return { ...options, schema: { type: 'integer', minimum, maximum, description } };
}

/** Returns the definition of a boolean argument. */
export function flag(description: string, options: Omit<Argument, 'schema'> = {}): Argument {
  return { ...options, schema: { type: 'boolean', description } };
}

/** Returns the definition of an array or object argument. */
export function data(
  schema: JsonObject,
  description: string,
  options: Omit<Argument, 'schema'> = {},
): Argument {
  return { ...options, schema: { ...schema, description } };
}

/** Returns the placeholder of an argument in a JSON body. */
export function arg(name: string): JsonObject {
  return { $argument: name };
}

/** Returns members of a JSON body: a placeholder for each argument, under its name. */
export function bodyMembers(...names: readonly string[]): { [name: string]: Json } {
  return Object.fromEntries(names.map((name) => [name, arg(name)]));
}

/** Returns the tools of an integration as a tool file. Throws OPTIONS_INVALID for an invalid definition. */
export function toolFileOf(integration: Integration): ToolFile {
  const { service, title, baseUrl, rate } = integration;
  const tools = Object.entries(integration.tools).map(([id, tool]) => serviceToolOf(integration, id, tool));
  const file = { version: 1, services: { [service]: { title, address: baseUrl, rate } }, tools, $defs: {} };
  return readToolFile(JSON.parse(JSON.stringify(file)), `of the integration ${service}`);
}

/** Returns the parameter for an argument outside the body; undefined if it has none. */
function parameterOf(tool: IntegrationTool, argument: string, { in: location, name = argument }: Argument) {
  const { path, json, body, answer } = tool;
  if (path.includes(`{${name}}`)) return { argument, in: 'path', name, style: 'simple', explode: false };
  if (location === 'header') return { argument, in: 'header', name, style: 'simple', explode: false };
  const query = { argument, in: 'query', name, style: 'form', explode: true };
  if (location === 'query') return query;
  // The name of a downloaded file is not part of the request.
  if (argument === answer?.file?.name || json !== undefined || body || tool.prepare) return undefined;
  return query;
}

function serviceToolOf(integration: Integration, id: string, tool: IntegrationTool) {
  const { description, method, path, arguments: args, json, body } = tool;
  const isRead = method === 'GET' || method === 'HEAD';
  const parameters = Object.entries(args).flatMap(
    ([argument, declaration]) => parameterOf(tool, argument, declaration) ?? [],
  );
  const required = Object.entries(args).flatMap(([name, declaration]) =>
    declaration.required ? [name] : [],
  );
  const { query, paging, keyHeader, accept, upload } = tool;
  const answer = integration.answer || tool.answer ? { ...integration.answer, ...tool.answer } : undefined;
  return {
    ...{ id, service: integration.service, description, method, path, parameters },
    arguments: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(args).map(([name, { schema }]) => [name, schema])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    ...{ json, body, query, paging, keyHeader, accept, answer, upload },
    headers: { ...integration.headers, ...tool.headers },
    credential: { schemes: { key: integration.credential } },
    idempotent: tool.idempotent ?? (isRead || method === 'PUT' || method === 'DELETE'),
    readOnly: tool.readOnly ?? isRead,
  };
}

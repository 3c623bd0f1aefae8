import { EngineError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { ERROR_KINDS } from './error-kinds.ts';
import { isReservedHeader, METHODS, LOCATIONS } from './operations.ts';

/** The version of tool files. Later versions of Heddle read earlier versions of the files. */
export const TOOL_FILE_VERSION = 1;

/** Maximum number of tools in one file. */
export const MAX_TOOLS = 20_000;
const MAX_SERVICES = 1000;
/** Maximum value of `answer.file.above`. */
const MAX_DATA_BYTES = 8 * 2 ** 20;

/** The id of a tool, and its name for models. */
const toolName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -');
/** The name of a service, as in `--service NAME=URL`. */
const serviceName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$/, 'must have 1 to 100 letters, digits and _ . : / -');
const header = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header');
const argument = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/)
  .refine((name) => name !== '__proto__');
const schema = z.record(z.string(), z.json());
const text = (max: number): z.ZodString => z.string().max(max);

const scheme = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('bearer'),
    scopes: z.array(text(200)).max(250),
    /** Keys with this prefix are sent without `Bearer`. */
    bare: text(20).min(1).optional(),
  }),
  z.strictObject({ type: z.literal('basic') }),
  z
    .strictObject({
      type: z.literal('key'),
      /** With `path`, `name` is a placeholder of the path. */
      in: z.enum(['header', 'query', 'cookie', 'path']),
      /** True if the key is also sent as `Authorization: Bearer`. */
      bearer: z.literal(true).optional(),
      name: text(200).min(1),
    })
    .refine(
      (key) => key.in === 'query' || key.in === 'path' || header.safeParse(key.name).success,
      'has an invalid name',
    ),
]);

const style = {
  style: z.enum(['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject']),
  explode: z.boolean(),
};

const parameter = z
  .strictObject({
    argument,
    in: z.enum(LOCATIONS),
    name: text(500).min(1),
    ...style,
    /** True if reserved characters are not encoded. */
    reserved: z.literal(true).optional(),
    /** True if the value is sent as JSON text. */
    json: z.literal(true).optional(),
  })
  .refine(
    ({ in: location, name }) =>
      location !== 'header' || (header.safeParse(name).success && !isReservedHeader(name)),
    'has a header that no argument may set',
  );

const mediaType = text(200).regex(
  /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[\w .:/+="-]*)*$/,
  'must be a media type',
);

const body = z.strictObject({
  argument,
  type: z.enum(['json', 'form', 'multipart', 'text', 'binary']),
  mediaType,
  /** How fields of forms are sent. */
  fields: z
    .record(
      z.string(),
      z
        .strictObject({ ...style, mediaType: mediaType.optional(), file: z.literal(true).optional() })
        .partial(),
    )
    .optional(),
});

/** A path in a body, with the syntax of references to blocks: `data.items[0].id`. */
const path = text(500).regex(/^[\w@$-]+(?:\.[\w@$-]+|\[\d+\])*$/, 'must be a path such as data.items[0].id');

/** The parts of a response that determine the success and the result of the call. */
const answer = z.strictObject({
  /** Path of a value: the call has failed unless the value is true. */
  ok: path.optional(),
  /**
   * Path of the reason of a failure. The call has failed if the response has a value there, unless it is an empty
   * list.
   */
  error: path.optional(),
  /** Path of the code of a failure, for `errors`. */
  code: path.optional(),
  /**
   * The codes, parts of reasons, or statuses of each kind of failure. The status decides the kind of other failures. A
   * call that fails with `rate` had no effect and may be repeated; a call that fails with `temporary` can succeed
   * later.
   */
  errors: z
    .partialRecord(
      z.enum(ERROR_KINDS),
      z.array(z.union([z.int().min(200).max(599), text(100).min(1)])).max(50),
    )
    .optional(),
  /** The name of `errors.rate` in earlier tool files. */
  retry: z.array(text(100).min(1)).max(20).optional(),
  /** The header with the time, in seconds or milliseconds since 1970, from which calls are accepted again. */
  reset: header.optional(),
  /**
   * Which responses become run files. They are stored as they arrive, so that they are never in memory as a
   * whole. Their result is `{file}`.
   */
  file: z
    .strictObject({
      /** Responses with more bytes become files; smaller ones are data. */
      above: z.int().min(0).max(MAX_DATA_BYTES),
      /** Maximum number of bytes of a file. Default: the limit of the engine. */
      maxBytes: z.int().min(1).optional(),
      /** The argument with the name of the file. Default: the name that the service sends. */
      name: argument.optional(),
    })
    .optional(),
  /** The result: the path of a value in the body, or an object of such paths. Default: the whole body. */
  output: z.union([path, z.record(argument, path)]).optional(),
});

const pages = z.int().min(1).max(100);

/** Lists in pages: the request for the next page has the cursor of the previous page. */
const cursorPaging = z.strictObject({
  by: z.undefined().optional(),
  /** Path of the list of items of a page. */
  items: path,
  /** Path of the cursor of the next page. The cursor is empty or absent on the last page. */
  cursor: path,
  /** `cursor` is a path in the last item of the page, such as the path of the id. */
  of: z.literal('last').optional(),
  /** Path of a value: the page is the last one unless the value is true. */
  more: path.optional(),
  /** The argument that takes the cursor. Calls that set it get one page. */
  argument,
  /** Maximum number of pages of one call. */
  pages,
});

/**
 * The request for the next page has the number of the page, or the number of items before it. The first page without
 * items is the last one.
 */
const countedPaging = z.strictObject({
  by: z.enum(['page', 'offset']),
  /** Path of the list of items of a page. Default: the whole body. */
  items: path.optional(),
  /** The argument that takes the number. Calls that set it get one page. */
  argument,
  /** The number of the first page, default 1, or the offset of the first item, default 0. */
  first: z.int().min(0).optional(),
  /** Path of a value: the page is the last one unless the value is true. */
  more: path.optional(),
  /** Path of the number of items of all pages. */
  total: path.optional(),
  pages,
});

/**
 * The header `Link` has the URL of the next page (RFC 8288). Only URLs under the base URL of the service are followed.
 */
const linkPaging = z.strictObject({
  by: z.literal('link'),
  /** Path of the list of items of a page. Default: the whole body. */
  items: path.optional(),
  /** Calls that set this argument get one page. */
  argument: argument.optional(),
  pages,
});

const paging = z.union([cursorPaging, countedPaging, linkPaging]);

/** A tool that is an operation of a service. */
export const serviceTool = z.strictObject({
  id: toolName,
  service: serviceName,
  description: text(2000),
  tags: z.array(text(100)).max(20).optional(),
  method: z.enum(METHODS),
  path: text(1000).regex(/^\/[^?#]*$/, 'must begin with / and have no query'),
  /** JSON Schema of the arguments; references point to `$defs` of the file. */
  arguments: schema,
  parameters: z.array(parameter).max(250).optional(),
  body: body.optional(),
  /**
   * A JSON body in which `{"$argument": NAME}` stands for an argument, as JSON. Members and items without a value are
   * omitted. Not allowed together with `body`.
   */
  json: z.json().optional(),
  /** Parameters of a query with fixed values. */
  query: z.record(text(200).min(1), text(500)).optional(),
  /** Headers with fixed values. */
  headers: z
    .record(
      header.refine((name) => !isReservedHeader(name), 'is a header that no tool may set'),
      text(500).regex(/^[\x20-\x7e]*$/),
    )
    .optional(),
  /**
   * The request announces the file that is the value of `argument`. The file is then sent in parts to the URL in the
   * header `Location` of the response, as Google services require.
   */
  upload: z.strictObject({ type: z.literal('resumable'), argument }).optional(),
  answer: answer.optional(),
  paging: paging.optional(),
  /** Media types of responses. */
  accept: z.array(mediaType).max(10).optional(),
  credential: z
    .strictObject({ schemes: z.record(z.string(), scheme), optional: z.literal(true).optional() })
    .optional(),
  /** The header for an idempotency key, which is the same for all retries of a call. */
  keyHeader: header.optional(),
  /** True if an interrupted call may be repeated. */
  idempotent: z.boolean(),
  /** True if a call changes nothing. */
  readOnly: z.boolean(),
});

/** Code that agents can call. It runs in the sandbox of the workflow that calls it. */
const codeTool = z.strictObject({
  id: toolName,
  description: text(2000),
  arguments: schema,
  language: z.enum(['javascript', 'python']),
  code: text(100_000).min(1),
  idempotent: z.boolean().optional(),
});

const service = z.strictObject({
  title: text(500),
  /** The base URL. Undefined: the operator must configure it. */
  address: z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .optional(),
  /** The number of calls that each credential may make in a period. The operator's configuration overrides it. */
  rate: z
    .strictObject({ calls: z.int().min(1).max(1_000_000), seconds: z.number().positive().max(86_400) })
    .optional(),
});

/** Tool files. */
export const toolFile = z.strictObject({
  version: z.literal(TOOL_FILE_VERSION),
  services: z.record(serviceName, service),
  tools: z.array(serviceTool).max(MAX_TOOLS),
  code: z.array(codeTool).max(1000).optional(),
  $defs: z.record(z.string().regex(/^\w{1,80}$/), schema),
});

/** Tools of services, as JSON: what `heddle tools import` writes. */
export type ToolFile = z.output<typeof toolFile>;
/** Code that agents can call. */
export type CodeTool = NonNullable<ToolFile['code']>[number];
/** One operation of a service. */
export type ServiceTool = ToolFile['tools'][number];
export type ServiceParameter = NonNullable<ServiceTool['parameters']>[number];
export type ServiceBody = NonNullable<ServiceTool['body']>;

/**
 * Checks a tool file and returns it. Throws OPTIONS_INVALID with the first problems: the value is not a tool file, two
 * tools have the same id, a tool contradicts itself, or the file does not describe the service of a tool. `name`
 * completes the message "The file … is not valid".
 */
export function readToolFile(value: unknown, name = 'of tools'): ToolFile {
  const parsed = toolFile.safeParse(value);
  const problems = parsed.success
    ? inconsistenciesIn(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`);
  if (parsed.success && problems.length === 0) return parsed.data;
  const shownProblems = problems.slice(0, 5).join('; ');
  throw new EngineError(
    'OPTIONS_INVALID',
    `The file ${name} is not valid: ${shownProblems}${problems.length > 5 ? ` (and ${problems.length - 5} more)` : ''}.`,
  );
}

function inconsistenciesIn({ services, tools, code = [] }: ToolFile): string[] {
  if (Object.keys(services).length > MAX_SERVICES) return [`services: more than ${MAX_SERVICES}`];
  const seenIds = new Set<string>();
  const isDuplicate = ({ id }: { id: string }): boolean => seenIds.size === seenIds.add(id).size;
  const duplicates = [...tools, ...code].filter(isDuplicate).map(({ id }) => `tools: "${id}" occurs twice`);
  const toolsWithoutService = tools.filter((tool) => !Object.hasOwn(services, tool.service));
  return [
    ...duplicates,
    ...tools
      .filter((tool) => hasWrongPathKey(tool))
      .map(
        ({ id }) =>
          `tools: "${id}" has a key in its path, but no placeholder in the path that only this key fills`,
      ),
    ...tools.flatMap((tool) => contradictionsIn(tool).map((problem) => `tools: "${tool.id}" ${problem}`)),
    ...toolsWithoutService.map(
      (tool) => `tools: "${tool.id}" belongs to "${tool.service}", which is not in services`,
    ),
  ];
}

/** Returns the contradictions between parts of a tool. */
function contradictionsIn(tool: ServiceTool): string[] {
  const { paging, upload, answer, method } = tool;
  const rules: readonly [isWrong: boolean, problem: string][] = [
    [
      paging?.by === 'link' && (method !== 'GET' || hasKeyInUrl(tool.credential)),
      'uses link paging, which needs the method GET and a key that is not part of the URL',
    ],
    [
      answer?.file !== undefined && paging !== undefined,
      'has both "paging" and "answer.file": use one of them',
    ],
    [
      upload !== undefined && !canUpload(tool),
      'has "upload" together with "paging", "body", "answer.file" or the method GET',
    ],
  ];
  const unknownArguments = [upload?.argument, answer?.file?.name].filter(
    (name) => name !== undefined && !hasArgument(tool, name),
  );
  return [
    ...rules.flatMap(([isWrong, problem]) => (isWrong ? [problem] : [])),
    ...unknownArguments.map((name) => `has no argument "${name}"`),
  ];
}

function canUpload({ method, paging, answer, body }: ServiceTool): boolean {
  return method !== 'GET' && [paging, answer?.file, body].every((other) => other === undefined);
}

function hasArgument({ arguments: schema, parameters = [] }: ServiceTool, name: string): boolean {
  return (
    Object.hasOwn((schema['properties'] ?? {}) as object, name) ||
    parameters.some(({ argument }) => argument === name)
  );
}

function hasKeyInUrl(credential: ServiceTool['credential']): boolean {
  return Object.values(credential?.schemes ?? {}).some(
    (key) => key.type === 'key' && (key.in === 'query' || key.in === 'path'),
  );
}

/** True if a key has no placeholder in the path, or an argument has the same placeholder and could replace the key. */
function hasWrongPathKey({ path, credential, parameters = [] }: ServiceTool): boolean {
  return Object.values(credential?.schemes ?? {}).some(
    (key) =>
      key.type === 'key' &&
      key.in === 'path' &&
      (!path.includes(`{${key.name}}`) ||
        parameters.some((candidate) => candidate.in === 'path' && candidate.name === key.name)),
  );
}

/** Returns the definitions that schemas of the file refer to. */
export function definitionsOf({ $defs }: ToolFile): JsonObject {
  return $defs as JsonObject;
}

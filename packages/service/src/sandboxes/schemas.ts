import { workspaceId } from '@heddle/api/areas';
import { CLI_TOOLS } from '@heddle/images';
import * as z from 'zod';

const timestamp = z.iso.datetime();
const MAX_LINES = 1_000;
const MAX_LINE_CHARS = 2_000;
const MAX_CLI_TOOLS = 10;
const MAX_SANDBOX_NAME_CHARS = 64;

const name = z.string().regex(/\S/, 'name is required').trim().min(1).max(MAX_SANDBOX_NAME_CHARS);
const language = z.enum(['javascript', 'python']);
const lines = z.array(z.string().max(MAX_LINE_CHARS)).max(MAX_LINES);
const cliTools = z
  .array(z.enum(CLI_TOOLS))
  .max(MAX_CLI_TOOLS)
  .refine((ids) => new Set(ids).size === ids.length, 'an id is listed twice');

export const sandboxPath = z.strictObject({ sandboxId: z.string().min(1).max(128) });

export const workspaceQuery = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  workspaceId,
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('name'),
  sortOrder: z.enum(['asc', 'desc']).default('asc'),
  limit: z.int().min(1).max(100).default(50),
  cursor: z.string().min(1).max(4096).optional(),
});

export const createBody = z.strictObject({
  workspaceId,
  name,
  language,
  dependencies: lines.default([]),
  cliTools: cliTools.default([]),
  systemPackages: lines.default([]),
});

export const updateBody = z
  .strictObject({
    workspaceId,
    name: name.optional(),
    language: language.optional(),
    dependencies: lines.optional(),
    cliTools: cliTools.optional(),
    systemPackages: lines.optional(),
  })
  .refine(
    (body) => Object.entries(body).some(([key, value]) => key !== 'workspaceId' && value !== undefined),
    {
      message: 'At least one of name, language, dependencies, cliTools, or systemPackages is required',
      path: ['name'],
    },
  );

/** Codes of failed builds. Other codes of the image builder become `install_failed`, with the code in `errorDetail`. */
export const ERROR_CODES = [
  'package_not_found',
  'version_not_found',
  'resolution_conflict',
  'build_timeout',
  'install_failed',
  'provider_error',
  'rate_limited',
] as const;

export const sandbox = z.object({
  id: z.string(),
  name: z.string(),
  language,
  dependencies: z.array(z.string()),
  cliTools: z.array(z.string()),
  systemPackages: z.array(z.string()),
  buildStatus: z.enum(['pending', 'building', 'ready', 'failed']).nullable(),
  errorCode: z.enum(ERROR_CODES).nullable(),
  errorMessage: z.string().nullable(),
  errorDetail: z.string().nullable().meta({ description: 'The end of the log of a failed build' }),
  builtAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const deletedSandbox = z.object({ id: z.string(), deleted: z.literal(true) });

/** The sort value and the id of a page's last row. */
export const sandboxPosition = z.tuple([z.string(), z.string()]);

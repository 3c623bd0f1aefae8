import { order, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

const timestamp = z.iso.datetime();
const scope = z
  .enum(['workspace', 'personal'])
  .meta({ description: 'Of the workspace, or of the calling user' });

/** Maximum number of secrets of a workspace, and of a user in a workspace. */
export const MAX_SECRETS = 1_000;
const MAX_NAME_CHARS = 255;
const MAX_VALUE_CHARS = 65_536;
const MAX_DESCRIPTION_CHARS = 500;

/** The control characters, written out because not every consumer of the schema supports `\p{Cc}`. */
const CONTROL_CHARACTERS = String.raw`\u0000-\u001f\u007f-\u009f`;
/** The names that `{{NAME}}` in a workflow can contain: no braces, control characters or outer white space. */
const NAME_PATTERN = new RegExp(
  String.raw`^[^{}\s${CONTROL_CHARACTERS}](?:[^{}${CONTROL_CHARACTERS}]*[^{}\s${CONTROL_CHARACTERS}])?$`,
  'u',
);

export const secretName = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .regex(NAME_PATTERN, 'a name cannot have braces, control characters, or white space at its ends');

/** Unpaired surrogates are refused: UTF-8 cannot store them, so the value would be read back as another string. */
export const secretValue = z
  .string()
  .min(1)
  .max(MAX_VALUE_CHARS)
  .refine((value) => value.isWellFormed(), 'the value is not valid Unicode');

export const secretPath = z.strictObject({ name: secretName });

export const listQuery = z.strictObject({
  workspaceId,
  scope: scope.optional(),
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('name'),
  sortOrder: order.default('asc'),
  limit: z.int().min(1).max(100).default(50),
  cursor: z.string().min(1).max(4096).optional(),
});

export const setBody = z.strictObject({
  workspaceId,
  scope,
  value: secretValue,
  description: z.string().max(MAX_DESCRIPTION_CHARS).nullish(),
});

export const deleteQuery = z.strictObject({ workspaceId, scope });

export const secret = z.object({
  name: z.string(),
  scope,
  description: z.string().nullable(),
  role: z.enum(['admin', 'member']).meta({ description: 'admin: the caller may change it' }),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const deletedSecret = z.object({ name: z.string(), scope, deleted: z.literal(true) });

/** The sort value, the name and the owner of a page's last row. */
export const secretPosition = z.tuple([z.string(), z.string(), z.string()]);

import { cursor, order, pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import { isStorable } from '@heddle/engine/stores';
import * as z from 'zod';

/** Maximum number of skills of a workspace. */
export const MAX_SKILLS = 1_000;
/** Maximum number of editors of a skill, besides the admins of its workspace. */
export const MAX_EDITORS = 200;
const MAX_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 1_024;
const MAX_CONTENT_CHARS = 50_000;

/** The name by which models refer to a skill. */
export const skillName = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .regex(
    /^[a-z0-9]+(?:-[a-z0-9]+)*$/,
    'a name must consist of lowercase letters and digits, with single hyphens between them',
  );

export const skillDescription = storableText(MAX_DESCRIPTION_CHARS, 'the description');
export const skillContent = storableText(MAX_CONTENT_CHARS, 'the content');

function storableText(maxChars: number, subject: string) {
  return z
    .string()
    .min(1)
    .max(maxChars)
    .regex(/\S/, `${subject} is blank`)
    .refine(isStorable, `${subject} is not valid Unicode, or contains the character U+0000`);
}

const id = z.string().min(1).max(128);

export const skillPath = z.strictObject({ skillId: id });
export const workspaceQuery = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  workspaceId,
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('createdAt'),
  sortOrder: order.default('desc'),
  limit: pageLimit(100, 50),
  cursor,
});

export const createBody = z.strictObject({
  workspaceId,
  name: skillName,
  description: skillDescription,
  content: skillContent,
});

export const updateBody = z
  .strictObject({
    workspaceId,
    name: skillName.optional(),
    description: skillDescription.optional(),
    content: skillContent.optional(),
  })
  .refine(
    ({ name, description, content }) =>
      name !== undefined || description !== undefined || content !== undefined,
    'name, description or content is required',
  );

export const skillSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().meta({ description: 'What the skill is for. Models use it to choose skills' }),
  readOnly: z.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const skill = skillSummary.extend({
  content: z.string().meta({ description: 'The instructions' }),
});

export const deletedSkill = z.object({ id: z.string(), deleted: z.literal(true) });

const email = z.string().min(1).max(320);

export const editorsQuery = z.strictObject({
  workspaceId,
  sortBy: z.enum(['email', 'name']).default('email'),
  sortOrder: order.default('asc'),
  limit: pageLimit(100, 50),
  cursor,
});

export const editorBody = z.strictObject({ workspaceId, email });
export const editorQuery = z.strictObject({ workspaceId, email });

export const editor = z.object({
  email: z.string(),
  name: z.string().nullable(),
  image: z.string().nullable(),
  isWorkspaceAdmin: z
    .boolean()
    .meta({ description: 'true: an editor of all skills, whose access cannot be granted or revoked' }),
});

export const revokedEditor = z.object({ email: z.string(), revoked: z.literal(true) });

/** The sort value and the id of a page's last row. */
export const pagePosition = z.tuple([z.string(), z.string()]);

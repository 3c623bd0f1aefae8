import { cursor, pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

const MAX_TEXT_CHARS = 2000;
const MAX_OUTPUTS = 20;

const page = z.enum(['chat', 'form']);

/** Letters, digits and hyphens: a part of a URL. */
export const identifier = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{1,62}[a-z0-9]$/, 'must be 3 to 64 lowercase letters, digits and hyphens')
  .describe('The last part of the URL of the pages');

export const chatBody = z.strictObject({
  identifier,
  title: z.string().trim().min(1).max(100),
  description: z.string().max(MAX_TEXT_CHARS).nullable().default(null),
  welcomeMessage: z
    .string()
    .max(MAX_TEXT_CHARS)
    .nullable()
    .default(null)
    .describe('Shown before the first message'),
  pages: z.array(page).min(1).max(2).default(['chat']).describe('`form`: a form of the input fields'),
  authType: z.enum(['public', 'password']).default('public'),
  password: z
    .string()
    .min(8)
    .max(256)
    .optional()
    .describe('Only with `authType: "password"`. Absent: the password is unchanged'),
  outputs: z
    .array(z.string().min(1).max(500))
    .max(MAX_OUTPUTS)
    .default([])
    .describe(
      'Selectors of the outputs that are shown, such as `agent.content`. Empty: the output of the run',
    ),
});

export const chatDeployment = z.strictObject({
  id: z.string(),
  workspaceId: z.string(),
  workflowId: z.string(),
  identifier: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  welcomeMessage: z.string().nullable(),
  pages: z.array(page),
  authType: z.enum(['public', 'password']),
  outputs: z.array(z.string()),
  isLive: z.boolean().describe('The pages are served: the workflow is deployed'),
  chatUrl: z.string().nullable(),
  formUrl: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const deletedChat = z.strictObject({ id: z.string(), deleted: z.literal(true) });

export const listQuery = z.strictObject({ workspaceId, limit: pageLimit(100, 50), cursor });

export const position = z.tuple([z.string()]);

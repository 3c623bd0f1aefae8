import type { TriggerInfo } from '@heddle/core/drafts';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import * as z from 'zod';
import { feedConfigOf, feedFields } from '../feed.ts';
import type { FeedConfig } from '../feed.ts';
import {
  withTriggerConfig,
  booleanField,
  parseList,
  problemsOf,
  textField,
  integerField,
} from '../read-fields.ts';

const MAX_MAILBOXES = 10;
const MAX_CRITERION_CHARS = 500;
// The errors of fields complete the message `is not …`.
const PORT_ERROR = 'a port from 1 to 65535';
const MAILBOXES_ERROR = `a list of at most ${MAX_MAILBOXES} mailboxes`;

const shortText = textField.max(1000, { error: 'text of at most 1,000 characters' });

export const imapFields = z.object({
  host: shortText
    .regex(/^[^\s/@]+$/, { error: 'the name of a server, such as imap.example.com' })
    .describe('The mail server, such as imap.example.com.'),
  port: integerField(1, 65_535, PORT_ERROR)
    .optional()
    .describe('The port. Default: 993, or 143 if `secure` is false or none.'),
  secure: z
    .union([booleanField, z.literal('none')], { error: 'true, false or none' })
    .default(true)
    .describe(
      'true (default): TLS from the first byte. false: STARTTLS, which the server must offer. none: no TLS, so others on the network can read the password.',
    ),
  username: shortText.describe('The name of the account. May contain {{NAME}}.'),
  password: shortText.describe('The password. Use {{NAME}}.'),
  mailbox: z
    .union([z.array(shortText).max(MAX_MAILBOXES, { error: MAILBOXES_ERROR }), shortText], {
      error: 'a list of mailboxes',
    })
    .default('INBOX')
    .describe('The mailboxes, up to 10, separated by commas. Default: INBOX.'),
  searchCriteria: z
    .json()
    .optional()
    .describe(
      'Which new messages start runs, as JSON such as {"unseen": true, "from": "ada@example.com"}: unseen, seen, flagged, answered, from, to, cc, subject, body, text, larger, smaller. Default: all.',
    ),
  markAsRead: booleanField.default(false).describe('Whether messages that start runs are marked as read.'),
  includeAttachments: booleanField.default(false).describe('Whether attachments are stored as files.'),
  ...feedFields,
});

/** The criteria of messages that start runs, in the format of imapflow. Plain JSON. */
export interface SearchCriteria {
  seen?: boolean;
  flagged?: boolean;
  answered?: boolean;
  from?: string;
  to?: string;
  cc?: string;
  subject?: string;
  body?: string;
  text?: string;
  larger?: number;
  smaller?: number;
}

/** A mail account as it is stored. */
export interface ImapConfig extends FeedConfig {
  host: string;
  port: number;
  tls: 'tls' | 'starttls' | 'none';
  username: string;
  /** The password: text, or `{{NAME}}`. */
  secret: string;
  mailboxes: string[];
  criteria: SearchCriteria;
  markAsRead: boolean;
  withFiles: boolean;
}

/** Returns the account that the fields of a block describe, or all problems. */
export function parseImapConfig(block: JsonObject): ReturnType<TriggerInfo['parseConfig']> {
  const parsed = imapFields.safeParse(withTriggerConfig(block));
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  const { host, secure, username, password, mailbox, markAsRead, includeAttachments } = parsed.data;
  const criteria = criteriaOf(parsed.data.searchCriteria as Json | undefined);
  if (typeof criteria === 'string') return { problems: [{ field: 'searchCriteria', message: criteria }] };
  const mailboxes = [...new Set(parseList(mailbox))];
  if (mailboxes.length === 0 || mailboxes.length > MAX_MAILBOXES)
    return { problems: [{ field: 'mailbox', message: `is not a list of 1 to ${MAX_MAILBOXES} mailboxes` }] };
  const tls = secure === 'none' ? 'none' : secure ? 'tls' : 'starttls';
  const config: ImapConfig = {
    ...{ host, port: parsed.data.port ?? (tls === 'tls' ? 993 : 143), tls, username, secret: password },
    ...{ mailboxes, criteria, markAsRead, withFiles: includeAttachments, ...feedConfigOf(parsed.data) },
  };
  return { config: config as unknown as JsonObject };
}

const criterion = z.string().min(1).max(MAX_CRITERION_CHARS);
const byteCount = z.int().min(0);
const criteriaSchema = z.strictObject({
  unseen: z.boolean().optional(),
  seen: z.boolean().optional(),
  flagged: z.boolean().optional(),
  answered: z.boolean().optional(),
  from: criterion.optional(),
  to: criterion.optional(),
  cc: criterion.optional(),
  subject: criterion.optional(),
  body: criterion.optional(),
  text: criterion.optional(),
  larger: byteCount.optional(),
  smaller: byteCount.optional(),
});

/** Returns the criteria, or what is wrong with the field. */
function criteriaOf(field: Json | undefined): SearchCriteria | string {
  if (field === undefined) return {};
  const value = typeof field === 'string' ? parseJson(field) : field;
  if (!isJsonObject(value ?? null)) return 'is not a JSON object';
  const parsed = criteriaSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path.join('.');
    return `has an unknown or invalid criterion "${name}"`;
  }
  const { unseen, ...criteria } = parsed.data;
  const normalizedCriteria = unseen === undefined ? criteria : { seen: !unseen, ...criteria };
  return Object.fromEntries(
    Object.entries(normalizedCriteria).filter(([, criterionValue]) => criterionValue !== undefined),
  ) as SearchCriteria;
}

import type { Json, JsonObject } from '@heddle/core/blocks';
import PostalMime from 'postal-mime';
import type { Address, Attachment, Email } from 'postal-mime';
import * as z from 'zod';
import type { FeedItem } from '@heddle/engine/triggers';

/** Messages up to this size are read completely. */
export const MAX_MESSAGE_BYTES = 10 * 2 ** 20;
/** Number of bytes that are read from the beginning of a larger message. */
export const TRUNCATED_BYTES = 256 * 2 ** 10;
/** After this many bytes, a poll reads no further message. The next poll reads the remaining ones. */
export const MAX_POLL_BYTES = 20 * 2 ** 20;
const MAX_TEXT_CHARS = 500_000;
const MAX_ATTACHMENTS = 50;
const MAX_ADDRESSES = 500;
const PARSER_LIMITS = { maxNestingDepth: 50, maxHeadersSize: 2 ** 20 };

/** A message as the server sends it. */
export interface RawMessage {
  id: string;
  raw: Uint8Array;
  /** True if only the beginning was read. */
  isTruncated: boolean;
  /** The time at which the server received it, in ISO 8601. */
  receivedAt: string;
  /** Further properties of `email` in the input of the run. */
  metadata: JsonObject;
}

/** Returns the item that starts a run for a message. A message that cannot be parsed becomes text. */
export async function toFeedItem(
  { id, raw, isTruncated, receivedAt, metadata }: RawMessage,
  { withFiles, nowMs }: { withFiles: boolean; nowMs: number },
): Promise<FeedItem> {
  const parsed = await parseMessage(raw);
  const attachments = (parsed?.attachments ?? []).slice(0, MAX_ATTACHMENTS);
  const email: JsonObject = {
    ...headersOf(parsed, receivedAt),
    ...metadata,
    bodyText: (parsed ? (parsed.text ?? '') : Buffer.from(raw).toString()).slice(0, MAX_TEXT_CHARS),
    bodyHtml: (parsed?.html ?? '').slice(0, MAX_TEXT_CHARS),
    truncated: isTruncated || !parsed,
    hasAttachments: attachments.length > 0,
    attachments: attachments.map(attachmentInfo),
  };
  const timestamp = new Date(nowMs).toISOString();
  const toInput = (records: Json): JsonObject => ({ email: { ...email, attachments: records }, timestamp });
  const input = { email, timestamp };
  // The last attachment of a truncated message is incomplete.
  if (!withFiles || isTruncated || attachments.length === 0) return { id, input };
  return { id, input, files: { list: attachments.map(fileOf), toInput } };
}

/** Returns the parsed message; undefined if it cannot be parsed, such as a message that exceeds the limits. */
async function parseMessage(raw: Uint8Array): Promise<Email | undefined> {
  try {
    return await PostalMime.parse(raw, { ...PARSER_LIMITS, attachmentEncoding: 'base64' });
  } catch {
    // Anyone can send a message: a message that cannot be parsed must not stop later messages.
    return undefined;
  }
}

function headersOf(parsed: Email | undefined, receivedAt: string): JsonObject {
  return {
    messageId: parsed?.messageId ?? '',
    subject: parsed?.subject ?? '',
    from: addressOf(parsed?.from),
    to: addressesOf(parsed?.to),
    cc: addressesOf(parsed?.cc),
    replyTo: addressesOf(parsed?.replyTo),
    date: parsed?.date ?? receivedAt,
    receivedAt,
  };
}

function addressesOf(list: readonly Address[] = []): string {
  return list.slice(0, MAX_ADDRESSES).map(addressOf).join(', ');
}

function addressOf(address: Address | undefined): string {
  if (!address) return '';
  if (address.group) return `${address.name}: ${addressesOf(address.group)};`;
  return address.name === '' ? (address.address ?? '') : `${address.name} <${address.address ?? ''}>`;
}

function attachmentInfo({ filename, mimeType, content }: Attachment): JsonObject {
  const size = typeof content === 'string' ? Buffer.byteLength(content, 'base64') : content.byteLength;
  return { name: filename ?? 'attachment', mime: mimeType, size };
}

function fileOf({ filename, mimeType, content }: Attachment): JsonObject {
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : 'application/octet-stream';
  const data = typeof content === 'string' ? content : Buffer.from(content as Uint8Array).toString('base64');
  return { type: 'file', name: filename ?? 'attachment', data: `data:${type};base64,${data}` };
}

/** The outputs of mail triggers, for the documentation and for workflow editors. */
export const mailOutputs = z.object({
  email: z
    .record(z.string(), z.json())
    .describe(
      'messageId, subject, from, to, cc, replyTo, date, receivedAt, bodyText, bodyHtml, hasAttachments, attachments, and truncated: true for a message over 10 MiB, or one that cannot be parsed.',
    ),
  timestamp: z.string().describe('When the message was found, in ISO 8601 and UTC.'),
});

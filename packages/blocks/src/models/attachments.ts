import { isUtf8 } from 'node:buffer';
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { BlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { sanitizeFileName, filesIn } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import { download } from '../download.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { Context } from '../define.ts';

/** Maximum number of attachments of one question. */
const MAX_FILES = 10;
/** Maximum total bytes of all attachments. */
const MAX_BYTES = 20_000_000;
/** Maximum number of bytes of one text file, which the model gets as part of its prompt. */
const MAX_TEXT_BYTES = 1_000_000;

/** The kind of file that a block accepts, as its messages name it: only images, or any file that models can read. */
export type AttachmentKind = 'image' | 'file';

/** A file that a model reads together with the question. */
interface Attachment {
  name: string;
  /** Detected from the bytes, not from the name or the server's header. */
  mediaType: string;
  bytes: Uint8Array;
}

/** The first bytes of the formats that models read. */
const FORMATS: readonly (readonly [mediaType: string, test: (head: string) => boolean])[] = [
  ['image/png', (head) => head.startsWith('\x89PNG\r\n\x1A\n')],
  ['image/jpeg', (head) => head.startsWith('\xFF\xD8\xFF')],
  ['image/gif', (head) => head.startsWith('GIF8')],
  ['image/webp', (head) => head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP'],
  ['application/pdf', (head) => head.startsWith('%PDF-')],
];
const TEXT_MEDIA_TYPE = 'text/plain';

/** The block of a question, and the kind of its attachments. */
interface AttachmentContext {
  context: Context;
  kind: AttachmentKind;
}

/**
 * Returns the parts of a message for the files that a field names: stored files, an HTTP URL, or a `data:` URL. Images
 * and PDFs become files of the message; a text file becomes text with its name. HTTP URLs are subject to the egress
 * policy.
 *
 * Throws BLOCK_CONFIG_INVALID, HTTP_FAILED.
 */
export async function attachmentsOf(
  value: Json,
  attachmentContext: AttachmentContext,
): Promise<(LanguageModelV4FilePart | LanguageModelV4TextPart)[]> {
  const { context, kind } = attachmentContext;
  const sources = typeof value === 'string' ? [value.trim()] : filesIn(value);
  if (sources.length === 0) throw unknownSourceError(attachmentContext);
  if (sources.length > MAX_FILES) throw invalidConfigError(context, `has more than ${MAX_FILES} ${kind}s`);
  const parts: (LanguageModelV4FilePart | LanguageModelV4TextPart)[] = [];
  let remainingBytes = MAX_BYTES;
  for (const source of sources) {
    const { name, bytes } =
      typeof source === 'string'
        ? await bytesAtLocation(source, attachmentContext)
        : { name: source.name, bytes: await bytesOfFile(source, remainingBytes, attachmentContext) };
    remainingBytes -= bytes.length;
    if (remainingBytes < 0) throw tooLargeError(attachmentContext);
    parts.push(
      partOf({ name, bytes, mediaType: mediaTypeOf(bytes, name, attachmentContext) }, attachmentContext),
    );
  }
  return parts;
}

function partOf(
  { name, bytes, mediaType }: Attachment,
  { context }: AttachmentContext,
): LanguageModelV4FilePart | LanguageModelV4TextPart {
  if (mediaType !== TEXT_MEDIA_TYPE)
    return { type: 'file', mediaType, filename: name, data: { type: 'data', data: bytes } };
  if (bytes.length > MAX_TEXT_BYTES)
    throw invalidConfigError(context, `has a text file "${name}" of more than ${MAX_TEXT_BYTES / 1e6} MB`);
  return { type: 'text', text: `File ${JSON.stringify(name)}:\n${new TextDecoder().decode(bytes)}` };
}

async function bytesOfFile(
  file: FileRecord,
  remainingBytes: number,
  attachmentContext: AttachmentContext,
): Promise<Uint8Array> {
  if (file.size > remainingBytes) throw tooLargeError(attachmentContext);
  const base64 = await attachmentContext.context.services.readFile(file);
  if (base64 === undefined)
    throw invalidConfigError(
      attachmentContext.context,
      `has ${kindWithArticle(attachmentContext)} "${file.name}", which is not a file of this workspace`,
    );
  return Buffer.from(base64, 'base64');
}

async function bytesAtLocation(
  location: string,
  attachmentContext: AttachmentContext,
): Promise<{ name: string; bytes: Uint8Array }> {
  if (/^data:/i.test(location))
    return { name: attachmentContext.kind, bytes: bytesOfDataUrl(location, attachmentContext.context) };
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw unknownSourceError(attachmentContext);
  const subject = `The ${attachmentContext.kind} at ${url.origin}${url.pathname}`;
  const { bytes } = await download(attachmentContext.context, { url, subject, maxBytes: MAX_BYTES });
  return { name: sanitizeFileName(url.pathname), bytes };
}

function bytesOfDataUrl(dataUrl: string, context: Context): Uint8Array {
  const base64 = /^data:[^,]{0,200};base64,(.*)$/is.exec(dataUrl)?.[1];
  if (base64 === undefined) throw invalidConfigError(context, 'has a data: URL that is not in Base64');
  return Buffer.from(base64, 'base64');
}

function mediaTypeOf(bytes: Uint8Array, name: string, { context, kind }: AttachmentContext): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const [mediaType = isText(bytes) ? TEXT_MEDIA_TYPE : undefined] =
    FORMATS.find(([, test]) => test(head)) ?? [];
  if (kind === 'image' && !mediaType?.startsWith('image/'))
    throw invalidConfigError(context, 'has an image that is not PNG, JPEG, GIF or WebP');
  if (mediaType !== undefined) return mediaType;
  throw invalidConfigError(
    context,
    `has a file "${name}" that models cannot read: it is neither PNG, JPEG, GIF, WebP nor PDF, nor text in UTF-8`,
  );
}

function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function unknownSourceError(attachmentContext: AttachmentContext): BlockError {
  return invalidConfigError(
    attachmentContext.context,
    `has ${kindWithArticle(attachmentContext)} that is neither a file of this engine nor an http, https or data URL`,
  );
}

function tooLargeError({ context, kind }: AttachmentContext): BlockError {
  return invalidConfigError(context, `has ${kind}s of more than ${MAX_BYTES / 1e6} MB together`);
}

function kindWithArticle({ kind }: AttachmentContext): string {
  return kind === 'image' ? 'an image' : 'a file';
}

import { isUtf8 } from 'node:buffer';
import { encodingFromByteOrderMark } from '../../byte-order-mark.ts';
import { permanentError } from '../failures.ts';
import type { FileContent } from './sources.ts';

/** Formats that are not text, by their first bytes. */
const BINARY_FORMATS: readonly (readonly [name: string, signature: RegExp])[] = [
  ['a PDF', /^%PDF-/],
  ['an image', /^(?:\x89PNG|\xFF\xD8\xFF|GIF8|RIFF....WEBP)/s],
  ['a Microsoft Office document in the old format', /^\xD0\xCF\x11\xE0/],
  ['a compressed file', /^\x1F\x8B/],
];
const ZIPPED_FORMATS: { readonly [extension: string]: string } = {
  docx: 'a Word document',
  xlsx: 'an Excel workbook',
  pptx: 'a PowerPoint presentation',
  odt: 'an OpenDocument text document',
  ods: 'an OpenDocument spreadsheet',
};

/**
 * Returns the text of a file in UTF-8, in UTF-16 with a byte order mark, or in the character set that its media type
 * names. Throws FILE_TYPE_UNSUPPORTED for a file that is not text.
 */
export function textOf({ name, type = '', bytes }: FileContent): string {
  const encoding = encodingFromByteOrderMark(bytes);
  if (encoding) return new TextDecoder(encoding).decode(bytes);
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const format =
    BINARY_FORMATS.find(([, signature]) => signature.test(head))?.[0] ?? zippedFormat(head, name);
  const isBinary = bytes.includes(0);
  if (format === undefined && !isBinary) {
    if (isUtf8(bytes)) return Buffer.from(bytes).toString('utf8');
    const decoder = declaredDecoder(type);
    if (decoder) return decoder.decode(bytes);
  }
  throw permanentError(
    'FILE_TYPE_UNSUPPORTED',
    `The file "${name}" is ${format ?? (isBinary ? 'not text' : 'not UTF-8 text')}, so this block cannot read it. Give it to an agent or a block that reads such files, such as mistral_parse, or convert it to text first.`,
  );
}

function zippedFormat(head: string, name: string): string | undefined {
  if (!head.startsWith('PK\x03\x04')) return undefined;
  const extension = name.toLowerCase().split('.').at(-1) ?? '';
  return Object.hasOwn(ZIPPED_FORMATS, extension) ? ZIPPED_FORMATS[extension] : 'an archive';
}

/** Returns the decoder for the character set of a media type; undefined if it names none or an unknown one. */
function declaredDecoder(type: string): InstanceType<typeof TextDecoder> | undefined {
  const label = /;\s*charset="?([\w.:-]{1,40})/i.exec(type)?.[1];
  try {
    return label === undefined ? undefined : new TextDecoder(label);
  } catch {
    // The character set is unknown.
    return undefined;
  }
}

const MEDIA_TYPES: { readonly [extension: string]: string } = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  md: 'text/markdown',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** Returns the media type of a text file with this name. */
export function textMediaTypeOf(name: string): string {
  const extension = name.toLowerCase().split('.').at(-1) ?? '';
  return Object.hasOwn(MEDIA_TYPES, extension) ? (MEDIA_TYPES[extension] as string) : 'text/plain';
}

import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import type { NewFile } from './storage.ts';

/** Most bytes of a file. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024;

/** A file as a caller sends it: with its content, or with the address to fetch it from. */
export interface FileInput {
  kind: 'file' | 'url';
  name: string;
  /** A data URL, or the address. */
  data: string;
  /** Media type of what stands at the address, as the caller has it. */
  mime: string | undefined;
}

/** `{type: "file" | "url", name, data, mime?}`; undefined for what has another form. */
export function parseFileInput(value: Json): FileInput | undefined {
  if (!isJsonObject(value)) return undefined;
  const [kind, name, data, mime] = ['type', 'name', 'data', 'mime'].map((field) => own(value, field));
  if (kind !== 'file' && kind !== 'url') return undefined;
  if (typeof name !== 'string' || name === '' || typeof data !== 'string') return undefined;
  return { kind, name, data, mime: typeof mime === 'string' ? mime : undefined };
}

const BASE64 = /^[A-Za-z0-9+/]*$/;
const DATA_URL = /^data:([^,]{0,200});base64,/i;

/** Why a file cannot be taken; the message has no subject, which is the file. */
export class FileRejected extends Error {}

/** The file that a data URL holds. Throws FileRefusal. */
export function parseDataUrl({ name, data }: FileInput): NewFile {
  const [head, type] = DATA_URL.exec(data) ?? [];
  if (head === undefined) {
    throw new FileRejected('its data are no data URL: send data:<media type>;base64,<content>');
  }
  const digits = withoutPadding(data.slice(head.length));
  if (!BASE64.test(digits) || digits.length % 4 === 1) throw new FileRejected('its content is no Base64');
  const file = { name, type, base64: digits.padEnd(Math.ceil(digits.length / 4) * 4, '=') };
  if (Buffer.byteLength(file.base64, 'base64') > MAX_FILE_BYTES) throw fileTooLarge();
  return file;
}

function withoutPadding(text: string): string {
  let end = text.length;
  while (text[end - 1] === '=') end -= 1;
  return text.slice(0, end);
}

export function fileTooLarge(): FileRejected {
  return new FileRejected(
    `it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB, the most that a file may have`,
  );
}

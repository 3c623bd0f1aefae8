import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { MAX_FILE_BYTES } from '@heddle/core/files';
import type { NewFile } from './storage.ts';

/** A file in the input of a run: its content, or the URL to download it from. */
export interface FileInput {
  kind: 'file' | 'url';
  name: string;
  /** A data URL with the content, or the URL of the file. */
  data: string;
  /** Media type that the caller declares for a URL. */
  mime: string | undefined;
}

/** Parses `{type: "file" | "url", name, data, mime?}`; undefined for other values. */
export function parseFileInput(value: Json): FileInput | undefined {
  if (!isJsonObject(value)) return undefined;
  const [kind, name, data, mime] = ['type', 'name', 'data', 'mime'].map((field) => getOwn(value, field));
  if (kind !== 'file' && kind !== 'url') return undefined;
  if (typeof name !== 'string' || name === '' || typeof data !== 'string') return undefined;
  return { kind, name, data, mime: typeof mime === 'string' ? mime : undefined };
}

const BASE64 = /^[A-Za-z0-9+/]*$/;
const DATA_URL = /^data:([^,]{0,200});base64,/i;

/** Thrown for a file that cannot be stored. The message is a clause about the file. */
export class FileRejectedError extends Error {}

/** Returns the file in a data URL. Throws FileRejectedError. */
export function parseDataUrl({ name, data }: FileInput): NewFile {
  const [head, type] = DATA_URL.exec(data) ?? [];
  if (head === undefined) {
    throw new FileRejectedError('its data is not a data URL: send data:<media type>;base64,<content>');
  }
  const digits = withoutPadding(data.slice(head.length));
  if (!BASE64.test(digits) || digits.length % 4 === 1)
    throw new FileRejectedError('its content is not Base64');
  const file = { name, type, base64: digits.padEnd(Math.ceil(digits.length / 4) * 4, '=') };
  if (Buffer.byteLength(file.base64, 'base64') > MAX_FILE_BYTES) throw fileTooLargeError();
  return file;
}

function withoutPadding(text: string): string {
  let end = text.length;
  while (text[end - 1] === '=') end -= 1;
  return text.slice(0, end);
}

export function fileTooLargeError(): FileRejectedError {
  return new FileRejectedError(
    `it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB, the maximum size of a file`,
  );
}

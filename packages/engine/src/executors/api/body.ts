import { BlockError, resolveTemplate } from '@heddle/core/blocks';
import type { Json, Lookup, Template } from '@heddle/core/blocks';
import { fillJsonText, resolveJson, findSingleHole } from '@heddle/core/fields';
import type { TextPart } from '@heddle/core/fields';
import type { FieldContext } from '../services.ts';
import { asPairs, asText } from '../values.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';

/**
 * Returns the body of a request: text, or a value that is sent as JSON.
 *
 * Values cannot change the authored structure: JSON text is filled in by `fillJsonText`, a form keeps its fields, and a
 * multipart body keeps its parts. With the Content-Type of a form, an object or a table becomes a form. Values are
 * inserted unchanged into other text.
 *
 * Throws BLOCK_CONFIG_INVALID for a value that contains the boundary of a multipart body.
 */
export function readBody(template: Template, { lookup, field }: FieldContext): Json {
  const type = contentTypeOf(field('headers'));
  if (type.name === FORM_TYPE) return formBody(template, lookup);
  const { boundary } = type;
  if (boundary !== undefined && template.kind === 'text' && !findSingleHole(template))
    return multipartBody(template.parts, boundary, lookup);
  return (
    fillJsonText(template, lookup) ?? resolveTemplate(findSingleHole(template) ?? template, lookup, 'native')
  );
}

function contentTypeOf(headers: Json | undefined): { name: string; boundary?: string } {
  const header = asPairs(headers)?.find(([key]) => key.toLowerCase() === 'content-type')?.[1] ?? '';
  const name = (header.split(';', 1)[0] ?? '').trim().toLowerCase();
  const [, quotedBoundary, plainBoundary] = /;\s*boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(header) ?? [];
  const boundary = quotedBoundary ?? plainBoundary ?? '';
  return name.startsWith('multipart/') && boundary !== '' ? { name, boundary } : { name };
}

function formBody(template: Template, lookup: Lookup): Json {
  const value = resolveJson(template, lookup);
  const pairs = typeof value === 'object' ? (asPairs(value) ?? []) : [];
  if (pairs.length > 0) return new URLSearchParams(pairs).toString();
  if (template.kind !== 'text' || findSingleHole(template)) return asText(value);
  return template.parts
    .map((part) => (typeof part === 'string' ? part : fillHole(part, lookup, encodeForm)))
    .join('');
}

/** Returns the body. Escapes values in the headers of a part as browsers do. No value may contain the boundary. */
function multipartBody(textParts: readonly TextPart[], boundary: string, lookup: Lookup): string {
  const delimiter = `--${boundary}`;
  let isInHeaders = false;
  let delimiterCount = 0;
  const filledParts = textParts.map((textPart) => {
    if (typeof textPart !== 'string') return fillHole(textPart, lookup, isInHeaders ? encodeHeader : String);
    const partStart = textPart.lastIndexOf(delimiter);
    isInHeaders =
      (isInHeaders || partStart >= 0) && !/\r?\n\r?\n/.test(textPart.slice(Math.max(partStart, 0)));
    delimiterCount += countOccurrences(textPart, delimiter);
    return textPart;
  });
  const body = filledParts.join('');
  if (countOccurrences(body, delimiter) === delimiterCount) return body;
  throw new BlockError(
    'BLOCK_CONFIG_INVALID',
    'A value in the multipart body of the request contains the boundary between its parts: choose another boundary, in the Content-Type header and in the body.',
    { retryable: false },
  );
}

function fillHole(hole: TextPart, lookup: Lookup, encode: (text: string) => string): string {
  return encode(asText(resolveTemplate({ kind: 'text', parts: [hole] }, lookup, 'text')));
}

function encodeForm(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function encodeHeader(text: string): string {
  return text.replace(/["\r\n]/g, encodeURIComponent);
}

function countOccurrences(text: string, substring: string): number {
  return text.split(substring).length - 1;
}

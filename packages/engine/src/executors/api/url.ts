import { BlockError, resolveTemplate } from '@heddle/core/blocks';
import type { Json, Lookup, Template } from '@heddle/core/blocks';
import { findSingleHole } from '@heddle/core/fields';
import type { TextPart } from '@heddle/core/fields';
import type { FieldContext } from '../services.ts';
import { asText } from '../values.ts';

/** The value of a reference in a URL, and the authored reference. */
interface ReferenceValue {
  text: string;
  reference: string;
}

/**
 * Marks the position of a value in a URL. Authored text cannot contain the mark, because line breaks and tabs are
 * removed from that text.
 */
const SLOT = '\n';

const LABELS = String.raw`[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*`;
const HOST_NAME = new RegExp(`^${LABELS}$`, 'u');
const IPV6_ADDRESS = /^[0-9a-f:.]+$/i;
const HOST = new RegExp(String.raw`^(?:${LABELS}|\[[0-9a-f:.]+\])$`, 'iu');
const HOST_WITH_PORT = new RegExp(String.raw`^(?:${LABELS}|\[[0-9a-f:.]+\])(?::\d{1,5})?$`, 'iu');
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@]*$/i;

/**
 * Returns the URL of a request with resolved references, without surrounding quotes and spaces.
 *
 * In path, query and fragment, values of references are percent-encoded, so that a value cannot extend beyond its path
 * segment, parameter name or parameter value. A value in the position of a host or a port must be a host or a port. A
 * reference that is the whole URL, or its beginning, is inserted unchanged. So are environment placeholders
 * (`{{NAME}}`), whose values do not come from the data of the run, and with `compat` all values.
 *
 * Throws BLOCK_CONFIG_INVALID for a value that is not a valid scheme, host or port in that position, or that would lead
 * to another path.
 */
export function readUrl(template: Template, { lookup, compat }: FieldContext): Json {
  const resolvedParts =
    template.kind === 'text' && !compat && !findSingleHole(template)
      ? resolveParts(template.parts, lookup)
      : [];
  if (resolvedParts.every((part) => typeof part === 'string'))
    return unquote(asText(resolveTemplate(template, lookup, 'text')).trim());
  const values = resolvedParts.filter((part) => typeof part !== 'string');
  const url = unquote(
    resolvedParts.map((part) => (typeof part === 'string' ? part.replace(/[\t\n\r]/g, '') : SLOT)).join(''),
  );
  return fillUrl(url, values);
}

function resolveParts(parts: readonly TextPart[], lookup: Lookup): (string | ReferenceValue)[] {
  return parts.map((part) => {
    const text = asText(resolveTemplate({ kind: 'text', parts: [part] }, lookup, 'text'));
    return typeof part !== 'string' && 'ref' in part ? { text, reference: part.ref.text } : text;
  });
}

/** Returns the text without surrounding spaces and one pair of quotes. Keeps slots, which are not spaces. */
function unquote(text: string): string {
  const trimmed = text.replace(/^ +| +$/g, '');
  const quote = trimmed[0];
  return trimmed.length > 1 && (quote === '"' || quote === "'") && trimmed.endsWith(quote)
    ? trimmed.slice(1, -1).replace(/^ +| +$/g, '')
    : trimmed;
}

function fillUrl(url: string, values: readonly ReferenceValue[]): string {
  const [firstValue] = values;
  const remainder = url.slice(SLOT.length);
  if (firstValue === undefined || !url.startsWith(SLOT) || /^:[/\\]/.test(remainder))
    return new UrlFiller(values).fill(url);
  const base = unquote(firstValue.text.trim()).replace(/[\t\n\r]/g, '');
  if (!/^[/\\?#\n]/.test(remainder) && !ORIGIN.test(base))
    throw urlError(firstValue, 'is followed by more of the host, so its value must be a scheme and a host');
  return new UrlFiller(values.slice(1)).fill(`${base}${remainder}`);
}

/** Inserts values into the slots of a URL, from left to right. */
class UrlFiller {
  /** The values in reverse order. */
  readonly #values: ReferenceValue[];

  constructor(values: readonly ReferenceValue[]) {
    this.#values = values.toReversed();
  }

  fill(url: string): string {
    const parts = /^([a-z\n][a-z0-9+.\n-]*:)?([/\\]*)([^/\\?#]*)([^?#]*)(.*)$/is.exec(url) ?? [];
    const [, scheme = '', slashes = '', authority = '', path = '', queryAndFragment = ''] = parts;
    return [
      this.#insert(scheme, (value) =>
        requireMatch(value, /^[a-z]*$/i, 'the scheme', 'a scheme such as https'),
      ),
      slashes,
      this.#fillAuthority(authority),
      path.replace(/[^/\\]+/g, (segment) => this.#fillSegment(segment)),
      this.#insert(queryAndFragment, percentEncode),
    ].join('');
  }

  #insert(text: string, encode: (value: ReferenceValue) => string): string {
    return text.replaceAll(SLOT, () => {
      const value = this.#values.pop();
      return value === undefined ? '' : encode(value);
    });
  }

  #fillAuthority(authority: string): string {
    const userInfo = authority.slice(0, authority.lastIndexOf('@') + 1);
    const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(.*)$/s.exec(authority.slice(userInfo.length)) ?? [];
    return [
      this.#insert(userInfo, percentEncode),
      this.#fillHost(host, port !== ''),
      this.#insert(port, (value) => requireMatch(value, /^\d{1,5}$/, 'the port', 'a port number')),
    ].join('');
  }

  #fillHost(host: string, hasPort: boolean): string {
    if (host === SLOT) {
      const pattern = hasPort ? HOST : HOST_WITH_PORT;
      return this.#insert(host, (value) => requireMatch(value, pattern, 'the host', 'a host name'));
    }
    const isInBrackets = host.startsWith('[');
    const filledStart = this.#insert(host.slice(0, host.length - SLOT.length), (value) =>
      requireMatch(value, isInBrackets ? IPV6_ADDRESS : HOST_NAME, 'the host', 'part of a host name'),
    );
    return `${filledStart}${this.#fillEndOfHost(filledStart, host.slice(host.length - SLOT.length))}`;
  }

  /** Inserts a value that directly follows the host, and extends it: `.org` would change the host `example.com`. */
  #fillEndOfHost(host: string, end: string): string {
    if (host.endsWith('.'))
      return this.#insert(end, (value) => requireMatch(value, HOST_NAME, 'the host', 'a host name'));
    return this.#insert(end, (value) => {
      if (host.includes('.'))
        throw urlError(value, 'directly follows the host: write a / before it, or pass it as a parameter');
      return requireMatch(value, /^[\p{L}\p{N}\p{M}_-]+$/u, 'the host', 'part of a host name without dots');
    });
  }

  #fillSegment(segment: string): string {
    const firstValue = this.#values.at(-1);
    const filledSegment = this.#insert(segment, percentEncode);
    if (
      firstValue !== undefined &&
      segment.includes(SLOT) &&
      /^\.\.?$/.test(filledSegment.replace(/%2e/gi, '.'))
    )
      throw urlError(
        firstValue,
        'turns a segment of the path into "." or "..", which would lead to another path',
      );
    return filledSegment;
  }
}

function percentEncode({ text }: ReferenceValue): string {
  return encodeURIComponent(text.toWellFormed());
}

function requireMatch(value: ReferenceValue, pattern: RegExp, position: string, expected: string): string {
  if (!pattern.test(value.text))
    throw urlError(value, `is in the position of ${position}, but its value is not ${expected}`);
  return value.text;
}

function urlError({ reference }: ReferenceValue, reason: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `In the URL of the request, ${reference} ${reason}.`, {
    retryable: false,
  });
}

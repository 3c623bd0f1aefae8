import * as cryptoExports from './crypto.ts';
import { stubBuiltins } from './stubs.ts';

type Values = Readonly<Record<string, unknown>>;

const stringifyPrimitive = (value: unknown): string =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '';

const escape = (text: string): string => encodeURIComponent(text);

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses a query string; repeated names become arrays. */
function parse(query: string, separator = '&', equals = '='): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = { __proto__: null } as never;
  for (const pair of query === '' ? [] : query.split(separator)) {
    const equalsIndex = pair.indexOf(equals);
    const [name, value] = (
      equalsIndex < 0 ? [pair, ''] : [pair.slice(0, equalsIndex), pair.slice(equalsIndex + equals.length)]
    ).map((component) => unescape((component as string).replaceAll('+', ' '))) as [string, string];
    const previousValue = values[name];
    values[name] =
      previousValue === undefined
        ? value
        : [...(Array.isArray(previousValue) ? previousValue : [previousValue]), value];
  }
  return values;
}

function stringify(values: Values, separator = '&', equals = '='): string {
  return Object.entries(values)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map(
        (item) => escape(name) + equals + escape(stringifyPrimitive(item)),
      ),
    )
    .join(separator);
}

const querystring = { escape, unescape, parse, stringify, decode: parse, encode: stringify };

declare const require: (name: string) => unknown;

interface StreamModule {
  readonly promises: unknown;
}

interface AssertModule {
  readonly strict: unknown;
}

interface PathModule {
  readonly posix: unknown;
}

/** Node.js builtins implemented in JavaScript alone, each created at its first use. */
export const completeBuiltins = {
  get assert() {
    return require('assert/');
  },
  get 'assert/strict'() {
    return (require('assert/') as AssertModule).strict;
  },
  get buffer() {
    return { Buffer, kMaxLength: 2 ** 31 - 1, constants: { MAX_LENGTH: 2 ** 31 - 1 }, atob, btoa };
  },
  get events() {
    return require('events/');
  },
  get path() {
    return require('path-browserify');
  },
  get 'path/posix'() {
    return (require('path-browserify') as PathModule).posix;
  },
  get querystring() {
    return querystring;
  },
  get stream() {
    return require('readable-stream');
  },
  get 'stream/promises'() {
    return (require('readable-stream') as StreamModule).promises;
  },
  get string_decoder() {
    return require('string_decoder/');
  },
  get util() {
    return require('util/');
  },
  get 'util/types'() {
    return (require('util/') as { types: unknown }).types;
  },
  get zlib() {
    return require('browserify-zlib');
  },
};

/** Builtins that are implemented in part; the other members throw when used. */
export const partialBuiltins: Readonly<Record<string, object>> = {
  ...stubBuiltins,
  get crypto() {
    const { lazyProperties, ...functions } = cryptoExports;
    return Object.defineProperties({ ...functions }, Object.getOwnPropertyDescriptors(lazyProperties));
  },
};

import * as hashes from './crypto.ts';
import { inert } from './inert.ts';
import { querystring } from './querystring.ts';

declare const require: (name: string) => unknown;

interface Stream {
  readonly promises: unknown;
}

interface Assert {
  readonly strict: unknown;
}

interface Path {
  readonly posix: unknown;
}

/** Node's builtins that are nothing but JavaScript, each made at its first use. */
export const whole = {
  get assert() {
    return require('assert/');
  },
  get 'assert/strict'() {
    return (require('assert/') as Assert).strict;
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
    return (require('path-browserify') as Path).posix;
  },
  get querystring() {
    return querystring;
  },
  get stream() {
    return require('readable-stream');
  },
  get 'stream/promises'() {
    return (require('readable-stream') as Stream).promises;
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

/** A part of others, made at its first use; the rest of them throws. */
export const part: Readonly<Record<string, object>> = {
  ...inert,
  get crypto() {
    const { lazily, ...rest } = hashes;
    return Object.defineProperties({ ...rest }, Object.getOwnPropertyDescriptors(lazily));
  },
};

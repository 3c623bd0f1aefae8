export { TextDecoder, TextEncoder } from './encoding.ts';
export { fetch, Response } from './fetch.ts';
export { Headers } from './headers.ts';

import { define, now } from '../primordials.ts';
import { lazy } from './lazy.ts';

// esbuild turns these calls into modules that run when called.
declare const require: (id: string) => Record<string, unknown>;

const the = (id: Record<string, unknown>): unknown => ('default' in id ? id['default'] : id);

/**
 * Takes away what can hold memory that the isolate's limit does not see, or compile.
 * Done in every fresh context and not in the snapshot: V8 adds to some of these when it makes a context.
 */
export function removeBuiltIns(): void {
  const global = globalThis as Record<string, unknown>;
  delete global['WebAssembly'];
  delete global['SharedArrayBuffer'];
  delete global['Atomics'];
  // Growing a buffer in place is not counted against the isolate's memory.
  const prototype = ArrayBuffer.prototype as unknown as Record<string, unknown>;
  delete prototype['resize'];
}

function installPerformance(): void {
  let origin = 0;
  let last = 0;
  const performance = {};
  define(performance, 'now', () => {
    origin ||= now();
    // The clock may be set back; this one does not run back.
    last = Math.max(last, now() - origin);
    return last;
  });
  define(globalThis, 'performance', performance);
}

/** Installs the web's globals, most of them as getters. */
export function installWebGlobals(): void {
  installPerformance();
  lazy(['URL', 'URLSearchParams'], () => ({
    URL: the(require('core-js-pure/actual/url')),
    URLSearchParams: the(require('core-js-pure/actual/url-search-params')),
  }));
  lazy(['structuredClone'], () => ({ structuredClone: the(require('core-js-pure/actual/structured-clone')) }));
  lazy(['DOMException'], () => ({ DOMException: the(require('core-js-pure/actual/dom-exception')) }));
  lazy(['atob', 'btoa'], () => ({ atob: the(require('core-js-pure/actual/atob')), btoa: the(require('core-js-pure/actual/btoa')) }));
  lazy(['Buffer'], () => ({ Buffer: require('buffer')['Buffer'] }));
  lazy(['TextEncoder', 'TextDecoder'], () => require('./encoding.ts'));
  lazy(['EventTarget', 'Event', 'CustomEvent'], () => require('./events.ts'));
  lazy(['AbortController', 'AbortSignal'], () => require('./abort.ts'));
  lazy(['Headers'], () => require('./headers.ts'));
  lazy(['Response', 'fetch'], () => require('./fetch.ts'));
  lazy(['crypto'], () => require('./crypto.ts'));
  define(globalThis, 'self', globalThis);
}

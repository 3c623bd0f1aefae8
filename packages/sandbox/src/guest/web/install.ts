import loadBase64 from 'lazy:./base64.ts';
import loadBuffer from 'lazy:./buffer.ts';
import loadClone from 'lazy:./clone.ts';
import loadCrypto from 'lazy:./crypto.ts';
import loadDom from 'lazy:./dom.ts';
import loadHttp from 'lazy:./http.ts';
import loadUrl from 'lazy:./url.ts';
import { define, now } from '../primordials.ts';
import { lazy } from './lazy.ts';

/**
 * Takes away what can hold memory that the isolate's limit does not see, or compile.
 * Done in the snapshot, where it costs nothing later, and in every fresh context: V8 adds to some of these when it makes one.
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
  lazy(['URL', 'URLSearchParams'], loadUrl);
  lazy(['structuredClone'], loadClone);
  lazy(['atob', 'btoa'], loadBase64);
  lazy(['Buffer'], loadBuffer);
  lazy(['EventTarget', 'Event', 'CustomEvent', 'AbortController', 'AbortSignal', 'DOMException'], loadDom);
  lazy(['TextEncoder', 'TextDecoder', 'Headers', 'Response', 'fetch'], loadHttp);
  lazy(['crypto'], loadCrypto);
  define(globalThis, 'self', globalThis);
}

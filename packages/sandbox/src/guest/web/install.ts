import loadAbort from 'lazy:./abort.ts';
import loadBase64 from 'onDemand:./base64.ts';
import loadBuffer from 'lazy:./buffer.ts';
import loadClone from 'onDemand:./clone.ts';
import loadCrypto from 'lazy:./crypto.ts';
import loadFetch from 'lazy:./fetch.ts';
import loadUrl from 'onDemand:./url.ts';
import { construct, define, now } from '../primordials.ts';
import { defineLazyGlobals } from './lazy.ts';

/**
 * Removes globals that can allocate memory outside the isolate's limit, or compile code. Called when the snapshot is
 * made, and again for every fresh context, because V8 adds some of them again.
 */
export function removeBuiltIns(): void {
  const global = globalThis as Record<string, unknown>;
  delete global['WebAssembly'];
  delete global['SharedArrayBuffer'];
  delete global['Atomics'];
  // Growing a buffer in place does not count toward the isolate's memory.
  const prototype = ArrayBuffer.prototype as unknown as Record<string, unknown>;
  delete prototype['resize'];
}

/**
 * Makes ArrayBuffer ignore `maxByteLength`: the memory of resizable buffers, including their initial size, does not
 * count toward the isolate's limit. Called for the snapshot, before user code could keep the native constructor.
 */
export function fixBufferSizes(): void {
  const nativeArrayBuffer = ArrayBuffer;
  const fixedArrayBuffer: ArrayBufferConstructor = new Proxy(nativeArrayBuffer, {
    // Without a null prototype, traps that users put on Object.prototype would be called with the native constructor.
    __proto__: null,
    construct: (_target, args: unknown[], newTarget: unknown) =>
      construct(
        nativeArrayBuffer,
        [args[0] as number],
        (newTarget === fixedArrayBuffer ? nativeArrayBuffer : newTarget) as typeof nativeArrayBuffer,
      ),
  } as ProxyHandler<ArrayBufferConstructor>);
  define(nativeArrayBuffer.prototype, 'constructor', fixedArrayBuffer);
  define(globalThis, 'ArrayBuffer', fixedArrayBuffer);
}

function installPerformance(): void {
  let originMs = 0;
  let lastMs = 0;
  const performance = {};
  define(performance, 'now', () => {
    originMs ||= now();
    // The system clock may be set back; this clock is monotonic.
    lastMs = Math.max(lastMs, now() - originMs);
    return lastMs;
  });
  define(globalThis, 'performance', performance);
}

/** Installs the web's globals, most of them as getters that load on first use. */
export function installWebGlobals(): void {
  installPerformance();
  defineLazyGlobals(['URL', 'URLSearchParams'], loadUrl);
  defineLazyGlobals(['structuredClone'], loadClone);
  defineLazyGlobals(['atob', 'btoa'], loadBase64);
  defineLazyGlobals(['Buffer'], loadBuffer);
  defineLazyGlobals(
    ['EventTarget', 'Event', 'CustomEvent', 'AbortController', 'AbortSignal', 'DOMException'],
    loadAbort,
  );
  defineLazyGlobals(['TextEncoder', 'TextDecoder', 'Headers', 'Response', 'fetch'], loadFetch);
  defineLazyGlobals(['crypto'], loadCrypto);
  define(globalThis, 'self', globalThis);
}

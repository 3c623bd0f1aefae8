import { callHost } from '../calls.ts';
import { send } from '../channel.ts';
import { apply, codeAt, define, defineProperty, NativeUint8Array, toText } from '../primordials.ts';

/**
 * The exports of other modules that lazy modules may use. Those other modules must not be duplicated, because they have
 * state or must run before user code. Every fresh context contains all of this, so only used exports are included.
 */
const sharedModules = {
  calls: { callHost },
  channel: { send },
  primordials: { apply, codeAt, NativeUint8Array, toText },
};

/**
 * Defines globals that are created at their first use: each object makes a fresh context slower, and most blocks use
 * only a few of these globals. The code itself is in the snapshot.
 */
export function defineLazyGlobals(
  names: readonly string[],
  load: (modules: object) => Readonly<Record<string, unknown>>,
): void {
  const materialize = (): void => {
    // Libraries look for a native version first and must not find the getter.
    for (const name of names) delete (globalThis as Record<string, unknown>)[name];
    const values = load(sharedModules);
    for (const name of names) define(globalThis, name, values[name]);
  };
  for (const name of names) {
    defineProperty(globalThis, name, {
      __proto__: null,
      configurable: true,
      enumerable: false,
      get() {
        materialize();
        return (globalThis as Record<string, unknown>)[name];
      },
      set(value: unknown) {
        define(globalThis, name, value);
      },
    } as PropertyDescriptor);
  }
}

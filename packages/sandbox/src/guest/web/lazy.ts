import { hostCall } from '../calls.ts';
import { send } from '../channel.ts';
import { apply, codeAt, define, defineProperty, NativeUint8Array, toText } from '../primordials.ts';

/**
 * Exports that lazy modules use of modules that must not be duplicated, because they have state or must run before user
 * code. Every fresh context contains all of this, so only used exports are included.
 */
const shared = {
  calls: { hostCall },
  channel: { send },
  primordials: { apply, codeAt, NativeUint8Array, toText },
};

/**
 * Defines globals that are created at their first use: a fresh context costs as much as its objects, and few blocks use
 * more than a few of these. The code itself is in the snapshot.
 */
export function lazy(
  names: readonly string[],
  load: (modules: object) => Readonly<Record<string, unknown>>,
): void {
  const materialize = (): void => {
    // Libraries look for a native version first and must not find the getter.
    for (const name of names) delete (globalThis as Record<string, unknown>)[name];
    const made = load(shared);
    for (const name of names) define(globalThis, name, made[name]);
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

import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox } from './index.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const valueOf = async (code: string): Promise<unknown> =>
  valueIn(await sandbox.run({ runId: 'language', code }));

/** Code that lists the names of all built-ins: globals, their properties, and properties of their instances. */
const LIST_BUILT_INS = `
  const names = [];
  const keysOf = (value) => Reflect.ownKeys(value).map(String);
  for (const name of keysOf(globalThis)) {
    names.push(name);
    const value = globalThis[name];
    if (value === globalThis || value === null || !['object', 'function'].includes(typeof value)) continue;
    for (const key of keysOf(value)) names.push(name + '.' + key);
    if (typeof value === 'function' && typeof value.prototype === 'object')
      for (const key of keysOf(value.prototype)) names.push(name + '#' + key);
  }
  return names;`;

/** Removed built-ins; README.md has the reasons. */
const isRemoved = (name: string): boolean =>
  /^(?:WebAssembly|SharedArrayBuffer|Atomics)\b/.test(name) || name === 'ArrayBuffer#resize';

describe('the language in user code', () => {
  it('has every built-in of Node.js except the removed ones', async () => {
    const nodeBuiltIns = runInNewContext(`(() => {${LIST_BUILT_INS}})()`) as string[];
    const sandboxBuiltIns = new Set((await valueOf(LIST_BUILT_INS)) as string[]);
    expect(nodeBuiltIns.length).toBeGreaterThan(800);
    // Another test of this process may have exposed `gc`.
    const isHostOnly = (name: string): boolean => /^(?:console|gc)\b/.test(name);
    expect(nodeBuiltIns.filter((name) => !sandboxBuiltIns.has(name) && !isHostOnly(name))).toEqual(
      nodeBuiltIns.filter(isRemoved),
    );
  });

  it('has `using` declarations', async () => {
    const code = `
      const calls = [];
      {
        using first = { [Symbol.dispose]: () => calls.push('first') };
        await using second = { [Symbol.asyncDispose]: async () => calls.push('second') };
        calls.push('body');
      }
      return calls;`;
    expect(await valueOf(code)).toEqual(['body', 'second', 'first']);
  });
});

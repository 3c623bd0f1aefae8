import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { block, condition, fn, loop, parallel, type TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

const pythonBlock = (name: string, code: string, fields: { [name: string]: Json } = {}): TestBlock =>
  block(name, 'function', { code, language: 'python', ...fields });

/** Defines the tests of function blocks in Python. */
export function describePython(makeRuntime: MakeRuntime): void {
  describe('code in Python', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it('receives and returns values of every type, between blocks in JavaScript', async () => {
      const { runWorkflow } = await getTestEngine();
      const values = [1, 2.5, 'it\'s "q"\n\u00e9', true, false, null, { deep: [{ n: 1 }] }, []];
      const result = await runWorkflow({
        blocks: [
          fn('A', `return ${JSON.stringify(values)}`),
          pythonBlock(
            'P',
            'v = <a.result>\nassert v[5] is None and v[3] is True and v[6]["deep"][0]["n"] == 1\nreturn v',
          ),
          fn('Z', 'return [<p.result>, <p.result[6].deep[0].n>]'),
        ],
        edges: ['Start -> A -> P -> Z'],
      });
      expect(result).toMatchObject({ status: 'completed', output: { result: [values, 1] } });
    });

    it('receives a separate copy of a value at every reference', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          fn('A', 'return { list: [1] }'),
          pythonBlock('P', 'first = <a.result>\nfirst["list"].append(2)\nreturn [first, <a.result>]'),
          fn('Z', 'return [<p.result>, <a.result>]'),
        ],
        edges: ['Start -> A -> P -> Z'],
      });
      expect(result).toMatchObject({
        output: { result: [[{ list: [1, 2] }, { list: [1] }], { list: [1] }] },
      });
    });

    it('resolves references in string literals with any quotes, but not in comments', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = `
# <a.result> and "<nosuch.x>"
return ['<a.result>', "say <a.result>!", '''three
<a.result>''', "\\"<a.result>\\"", f"{len(<a.result>)} <a.result>", r"\\d<a.result>"]`;
      const result = await runWorkflow({
        blocks: [fn('A', 'return "it\\\'s"'), pythonBlock('P', code)],
        edges: ['Start -> A -> P'],
      });
      const jsonText = '"it\'s"';
      expect(result).toMatchObject({
        status: 'completed',
        output: {
          result: [
            jsonText,
            `say ${jsonText}!`,
            `three\n${jsonText}`,
            `"${jsonText}"`,
            `4 ${jsonText}`,
            `\\d${jsonText}`,
          ],
        },
      });
    });

    it('treats values as data: text that is code, or ends a literal, stays text', async () => {
      const { runWorkflow } = await getTestEngine();
      const hostile = `"; import os; os._exit(1) # ''' """ \\ {x} <a.result> {{KEY}} \${1}`;
      const result = await runWorkflow({
        blocks: [pythonBlock('P', 'text = <start.text>\nreturn [text, "<start.text>"]')],
        edges: ['Start -> P'],
        input: { text: hostile },
      });
      expect(result).toMatchObject({ output: { result: [hostile, JSON.stringify(hostile)] } });
    });

    it('reads blocks that did not run as None', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          condition('C', { no: 'false', other: '' }),
          fn('A', 'return 1'),
          pythonBlock('P', 'return [<a.result>, <a> is None]'),
        ],
        edges: ['Start -> C', 'C:no -> A', 'C:other -> P'],
      });
      expect(result).toMatchObject({ output: { result: [null, true] } });
    });

    it('reads and provides data of variables, loops and parallels', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          loop(
            'L',
            { loopType: 'for', count: 2 },
            pythonBlock('P', 'return <loop.index> + <variable.base>'),
            block('V', 'variables', {
              variables: [{ variableName: 'base', type: 'number', value: '<p.result>' }],
            }),
          ),
          parallel(
            'Q',
            { parallelType: 'collection', collection: '[10, 20]' },
            pythonBlock('R', 'return [<parallel.index>, <parallel.currentItem>, "<parallel.currentItem>"]'),
          ),
          pythonBlock(
            'Z',
            'return [[t[0]["result"] for t in <l.results>], [b[0]["result"] for b in <q.results>], <variable.base>]',
          ),
        ],
        edges: ['Start -> L -> P -> V', 'L -> Q -> R', 'Q -> Z'],
        workflowOptions: { variables: { base: { type: 'number', value: 5 } } },
      });
      expect(result).toMatchObject({
        status: 'completed',
        output: {
          result: [
            [5, 6],
            [
              [0, 10, '10'],
              [1, 20, '20'],
            ],
            6,
          ],
        },
      });
    });

    it('returns the returned value, the result variable or null, and supports top-level await', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          pythonBlock('A', 'if True:\n    return {"a": 1}'),
          pythonBlock('B', '__block_result__ = <a.result>'),
          pythonBlock('C', 'x = <b.result>'),
          pythonBlock('D', 'import asyncio\nreturn await asyncio.sleep(0.001, "awaited")'),
          fn('Z', 'return [<a.result>, <b.result>, <c.result>, <d.result>]'),
        ],
        edges: ['Start -> A -> B -> C -> D -> Z'],
      });
      expect(result).toMatchObject({ output: { result: [{ a: 1 }, { a: 1 }, null, 'awaited'] } });
    });

    it('returns dates as ISO text, bytes as base64, tuples and sets as lists', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = 'import datetime\nreturn [datetime.date(2026, 1, 2), b"\\x00", (1,), {2}]';
      const result = await runWorkflow({ blocks: [pythonBlock('P', code)], edges: ['Start -> P'] });
      expect(result).toMatchObject({ output: { result: ['2026-01-02', 'AA==', [1], [2]] } });
    });

    it('returns its console output with its result', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          pythonBlock('P', 'import sys\nprint("a", end=" ")\nprint("b", file=sys.stderr)'),
          fn('Z', 'return <p.stdout>'),
        ],
        edges: ['Start -> P -> Z'],
      });
      expect(result).toMatchObject({ output: { result: 'a b' } });
    });

    it('runs code that consists of several parts as one function, with params, input, json and os', async () => {
      const { runWorkflow } = await getTestEngine();
      const parts = [{ content: 'x = json.dumps(params)' }, { content: 'return [x, os.sep, input["n"]]' }];
      const result = await runWorkflow({
        blocks: [block('P', 'function', { code: parts, language: 'python' })],
        edges: ['Start -> P'],
        input: { n: 4 },
      });
      expect(result).toMatchObject({ output: { result: ['{}', '/', 4] } });
    });

    it.each([
      ['an error', 'x = 1\nraise ValueError("no")', 'ValueError: Line 2: `raise ValueError("no")` - no'],
      ['code that does not compile', 'x = 1\nreturn (x', 'Line 2'],
      ['a value that JSON cannot represent', 'return float("nan")', 'JSON'],
      ['a missing module', 'import numpy', 'numpy'],
      // Only this row has a short timeout: on a busy machine the other rows can take longer.
      ['an endless loop', 'while True: pass', '300 ms', { timeout: 300 }],
    ])(
      'fails its block with %s, and activates the error edge',
      async (_title, code, message, fields: { timeout?: number } = {}) => {
        const { runWorkflow } = await getTestEngine();
        const result = await runWorkflow({
          blocks: [pythonBlock('P', code, fields), fn('H', 'return <p.error>'), fn('Z', 'return "not here"')],
          edges: ['Start -> P -> Z', 'P:error -> H'],
        });
        expect(result).toMatchObject({ status: 'completed' });
        expect((result.output as { result: string }).result).toContain(message);
      },
    );

    it('is isolated from other runs', async () => {
      const { runWorkflow } = await getTestEngine();
      const code = 'import json\nseen = hasattr(json, "leaked")\njson.leaked = 1\nreturn seen';
      for (let run = 0; run < 2; run++)
        expect(await runWorkflow({ blocks: [pythonBlock('P', code)], edges: ['Start -> P'] })).toMatchObject({
          output: { result: false },
        });
    });
  });
}

import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { bindCode, bindExpression } from '../../packages/core/src/refs/bind.ts';
import { compileCode, compileExpression } from '../../packages/core/src/refs/code.ts';
import { createSandbox } from '../../packages/sandbox/src/index.ts';
import { pickByScale } from '../support/scale.ts';
import { context, hostileValue, createLookup, textOf } from './hostile-values.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const runOptions = { numRuns: pickByScale(80, 5000) };
const DEFINE_BOOM = 'globalThis.booms = 0; globalThis.boom = () => { booms++; return "boom"; };';

it('a hostile value is unchanged by function code in an isolate, and is not evaluated', async () => {
  const authoredCode = 'return [<p>, "<p>", `a<p>`, {{K}}, "{{K}}", /* <p> " */ booms] // <p>\n';
  const { code } = compileCode(DEFINE_BOOM + authoredCode, 'javascript', context);
  await fc.assert(
    fc.asyncProperty(hostileValue, async (value) => {
      const outcome = await sandbox.run({ runId: 'fuzz', ...bindCode(code, createLookup(value)) });
      const json = JSON.stringify(value);
      const expected = [value, json, `a${json}`, textOf(value), textOf(value), 0];
      expect(outcome).toMatchObject({ ok: true, json: JSON.stringify(expected) });
    }),
    runOptions,
  );
});

it('a hostile value is unchanged by an expression in an isolate', async () => {
  const { expression } = compileExpression('[<p>, "{{K}}", `{{K}}`, typeof boom]', context, 'condition');
  await fc.assert(
    fc.asyncProperty(hostileValue, async (value) => {
      const expressions = [bindExpression(expression, createLookup(value))];
      const outcome = await sandbox.evaluate({ runId: 'fuzz', mode: 'values', expressions });
      const expected = JSON.stringify([value, textOf(value), textOf(value), 'undefined']);
      expect(outcome).toMatchObject({ ok: true, json: [expected] });
    }),
    runOptions,
  );
});

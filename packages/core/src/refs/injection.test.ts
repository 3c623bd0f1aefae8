import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { context, createLookup } from '../../../../test/support/one-block.ts';
import { isBlockError } from '../errors.ts';
import type { Json } from '../json.ts';
import { bindCode, bindExpression } from './bind.ts';
import { compileCode, compileExpression } from './code.ts';

const propertyOptions = { numRuns: pickByScale(600, 20_000) };

type DynamicFunction = new (...source: string[]) => (...values: unknown[]) => unknown;
const DynamicFunction = Object.getPrototypeOf(() => undefined).constructor as DynamicFunction;

function evaluate({ code, values }: { code: string; values: Record<string, string> }): unknown {
  const args = Object.values(values).map((json) => JSON.parse(json) as unknown);
  return new DynamicFunction(...Object.keys(values), 'boom', code)(...args, () => {
    throw new Error('a value was run as code');
  });
}

/** Returns the result of `act`, or the code of the block error it throws. */
function outcomeOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    if (isBlockError(error) && error.code === 'EXPRESSION_FAILED') return error.code;
    throw error;
  }
}

const hostilePieces = [
  '"',
  "'",
  '`',
  '${boom()}',
  '\\',
  '\n',
  '\r',
  '\u2028',
  '\u2029',
  '*/',
  '//',
  '</script>',
  '\ud800',
  '{{K}}',
  '<p.x>',
  '"+boom()+"',
  "'+boom()+'",
  '`+boom()+`',
  '__heddle_0_',
  '$&',
  '$1',
  '\u0000',
];
const arbitraryValue: fc.Arbitrary<Json> = fc.oneof(
  fc.array(fc.constantFrom(...hostilePieces), { maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary' }),
  fc.jsonValue().map((json) => json as Json),
);

describe('an arbitrary value (no injection)', () => {
  it('is data in JavaScript, wherever its reference or placeholder is', () => {
    const authored =
      'return [<p>, "<p>", \'<p>\', `<p>${<p> === null}`, <variable.v>, {{K}}, "{{K}}", `{{K}}`] // <p>\n/* <p> */';
    const { code } = compileCode(authored, 'javascript', context);
    fc.assert(
      fc.property(arbitraryValue, (data) => {
        const copy = JSON.parse(JSON.stringify(data)) as Json;
        const json = JSON.stringify(data);
        const env = typeof data === 'string' ? data : json;
        expect(evaluate(bindCode(code, createLookup(data)))).toEqual([
          copy,
          json,
          json,
          // Not every object can become text: `{"toString": null}` cannot.
          json + String(copy === null),
          copy,
          env,
          env,
          env,
        ]);
      }),
      propertyOptions,
    );
  });

  it('is data in expressions', () => {
    const { expression } = compileExpression(
      '[<p>, {{K}}, "{{K}}", /* <p> */ `{{K}}`] // <p>',
      context,
      'condition',
    );
    fc.assert(
      fc.property(arbitraryValue, (data) => {
        const { code, values } = bindExpression(expression, createLookup(data));
        const [first, , ...env] = evaluate({ code: `return (${code})`, values }) as Json[];
        const text = typeof data === 'string' ? data : JSON.stringify(data);
        expect([first, ...env]).toEqual([JSON.parse(JSON.stringify(data)), text, text]);
      }),
      propertyOptions,
    );
  });

  it('inside quotes of an expression is a string or a failure', () => {
    for (const kind of ['condition', 'loop'] as const) {
      const { expression } = compileExpression('["<p>", \'<p>\', `<p>`]', context, kind);
      const singleBindingExpressions = expression.bindings.map((binding) => ({
        ...expression,
        code: binding.name,
        bindings: [binding],
      }));
      fc.assert(
        fc.property(
          arbitraryValue,
          fc.constantFrom(...singleBindingExpressions),
          (data, singleBindingExpression) => {
            const result = outcomeOf(() => {
              const { code, values } = bindExpression(singleBindingExpression, createLookup(data));
              return evaluate({ code: `return ${code}`, values });
            });
            return typeof result === 'string';
          },
        ),
        propertyOptions,
      );
    }
  });
});

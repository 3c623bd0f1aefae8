import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBlockError } from '../../packages/core/src/errors.ts';
import type { Json } from '../../packages/core/src/json.ts';
import { bindCode, bindExpression } from '../../packages/core/src/refs/bind.ts';
import { compileCode, compileExpression } from '../../packages/core/src/refs/code.ts';
import { resolveTemplate } from '../../packages/core/src/refs/resolve.ts';
import { compileTemplate } from '../../packages/core/src/refs/text.ts';
import { pickByScale } from '../support/scale.ts';
import { context, hostileText, hostileValue, createLookup, textOf } from './hostile-values.ts';

const runOptions = { numRuns: pickByScale(500, 50_000) };

/** Returns the result of `act`; undefined if it throws a BlockError. */
function resultOrUndefined<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isBlockError(error)) return undefined;
    throw error;
  }
}

describe('hostile references and placeholders', () => {
  it.each(['text', 'native'] as const)('in a field resolve to JSON, or fail the block (%s)', (mode) => {
    fc.assert(
      fc.property(hostileText, hostileValue, (text, value) => {
        const { template } = compileTemplate({ [text]: [text] }, context);
        const resolved = resultOrUndefined(() => resolveTemplate(template, createLookup(value), mode));
        expect(resolved === undefined || isJson(resolved)).toBe(true);
      }),
      runOptions,
    );
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it('never read an inherited property of a value', () => {
    const inheritedNames = ['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', 'prototype'];
    const step = fc.constantFrom(...inheritedNames, 'length', '0');
    const values = fc.constantFrom<Json>({}, [], 'text', 7, true, null);
    fc.assert(
      fc.property(step, fc.array(step, { maxLength: 2 }), values, (firstStep, otherSteps, value) => {
        const path = [firstStep, ...otherSteps].join('.');
        const { template } = compileTemplate(`<p.${path}>`, context);
        const expected = Array.isArray(value) && path === 'length' ? 0 : '';
        expect(resolveTemplate(template, createLookup(value), 'native')).toBe(expected);
      }),
      { numRuns: pickByScale(400, 10_000) },
    );
  });

  it('in a value are data: values are not scanned for references', () => {
    fc.assert(
      fc.property(hostileValue, (value) => {
        const { template } = compileTemplate('a<p>b{{K}}c<variable.v>d{{no}}', context);
        const text = value === null ? String(value) : textOf(value);
        const expectedText = typeof value === 'number' ? String(value) : text;
        expect(resolveTemplate(template, createLookup(value), 'text')).toBe(
          `a${expectedText}b${textOf(value)}c${expectedText}d{{no}}`,
        );
      }),
      runOptions,
    );
  });

  it('in code and expressions are bound, or fail the block; the code does not depend on the values', () => {
    const pairs = fc.tuple(hostileText, hostileValue, hostileValue);
    fc.assert(
      fc.property(
        pairs,
        fc.constantFrom('javascript', 'python', 'condition', 'loop'),
        ([text, ...values], language) => {
          const boundCodes = values.map((value) =>
            resultOrUndefined(() => {
              if (language === 'javascript' || language === 'python')
                return bindCode(compileCode(text, language, context).code, createLookup(value));
              return bindExpression(
                compileExpression(text, context, language).expression,
                createLookup(value),
              );
            }),
          );
          const [first, second] = boundCodes;
          if (first && second) expect(first.code).toBe(second.code);
          for (const boundCode of boundCodes)
            for (const json of Object.values(boundCode?.values ?? {}))
              expect(() => JSON.parse(json) as unknown).not.toThrow();
        },
      ),
      runOptions,
    );
  });
});

describe('a placeholder with an unknown name', () => {
  it.each(['NO', '$&', '$$', "$'", '$`', '$1', '__proto__', 'constructor', '"', '`${'])(
    'stays unchanged in code: {{%s}}',
    (name) => {
      for (const authoredCode of [`a; {{${name}}}; b`, `{{${name}}}`]) {
        expect(bindCode(compileCode(authoredCode, 'javascript', context).code, createLookup(1)).code).toBe(
          authoredCode,
        );
        const { expression } = compileExpression(authoredCode, context, 'condition');
        expect(bindExpression(expression, createLookup(1)).code).toBe(authoredCode);
      }
    },
  );
});

/** Returns true if `value` is plain JSON: no functions, inherited objects or undefined values. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value !== 'object') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJson);
}

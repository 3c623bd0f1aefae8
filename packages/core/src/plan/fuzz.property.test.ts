import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryFile } from '../../../../test/support/arbitrary-workflow.ts';
import { dose } from '../../../../test/support/dose.ts';
import type { Json, JsonObject } from '../json.ts';
import { parseWorkflow, parseWorkflowText } from '../schema/parse.ts';
import type { ParseResult } from '../schema/parse.ts';
import { hasErrors } from './codes.ts';
import { compile } from './compile.ts';

const runs = { numRuns: dose(300, 20_000) };

interface Mutation {
  /** Which of the places in the value, counted in depth-first order. */
  at: number;
  how: 'replace' | 'remove' | 'repeat' | 'rename';
  value: unknown;
  key: string;
}

const hostileKeys = ['__proto__', 'constructor', 'toString', '', 'id', 'undefined', 'blocks', '7'];
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(400),
  how: fc.constantFrom('replace', 'replace', 'remove', 'repeat', 'rename'),
  value: fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(
      null,
      [],
      {},
      1e308,
      -0,
      Number.NaN,
      undefined,
      '\u0000',
      '\ud800',
      '<',
      '<a.',
      '{{',
      '`${',
    ),
    fc.string({ unit: 'binary', maxLength: 12 }),
  ),
  key: fc.oneof(fc.constantFrom(...hostileKeys), fc.string({ maxLength: 4 })),
});

/** Changes the value at one place, in place. */
function mutate(root: Json, { at, how, value, key }: Mutation): void {
  const places: [holder: JsonObject, key: string][] = [];
  const visit = (holder: Json): void => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const each of Object.keys(holder)) {
      places.push([holder as JsonObject, each]);
      visit((holder as JsonObject)[each] as Json);
    }
  };
  visit(root);
  const place = places[at % Math.max(1, places.length)];
  if (!place) return;
  const [holder, name] = place;
  const define = (to: string, what: unknown): void => {
    Object.defineProperty(holder, to, { value: what, enumerable: true, configurable: true, writable: true });
  };
  if (how === 'replace') define(name, value);
  else if (how === 'remove') Reflect.deleteProperty(holder, name);
  else if (how === 'repeat' && Array.isArray(holder)) holder.push(holder[Number(name)] as Json);
  else if (!Array.isArray(holder)) define(key, holder[name]);
}

/** Reads, checks and compiles; the result of reading has a workflow exactly when nothing is wrong. */
function expectNoThrow({ workflow, diagnostics }: ParseResult): void {
  expect(workflow === undefined).toBe(hasErrors(diagnostics));
  if (!workflow) return;
  const result = compile(workflow);
  expect(result.ok).toBe(!hasErrors(result.diagnostics));
}

describe('hostile input', () => {
  it('made from a workflow by any changes is read, checked and compiled without an exception', () => {
    fc.assert(
      fc.property(arbitraryFile, fc.array(mutation, { maxLength: 6 }), (file, mutations) => {
        const input = structuredClone(file);
        for (const each of mutations) mutate(input, each);
        expectNoThrow(parseWorkflow(input));
      }),
      runs,
    );
  });

  it('made from the text of a workflow by any cut or insertion is too', () => {
    const cut = fc.tuple(fc.nat(4000), fc.nat(30), fc.string({ maxLength: 5 }));
    fc.assert(
      fc.property(arbitraryFile, fc.array(cut, { maxLength: 3 }), (file, cuts) => {
        let text = JSON.stringify(file);
        for (const [at, length, insert] of cuts) {
          const from = at % text.length;
          text = text.slice(0, from) + insert + text.slice(from + length);
        }
        expectNoThrow(parseWorkflowText(text));
      }),
      runs,
    );
  });

  it('of any JSON is too', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (input) => {
        expectNoThrow(parseWorkflow(input));
        expectNoThrow(parseWorkflow({ blocks: input, edges: input, variables: input, loops: input }));
        expectNoThrow(
          parseWorkflow({
            blocks: { b: { type: 'loop', name: 'B', subBlocks: input, data: input } },
            edges: [],
          }),
        );
      }),
      runs,
    );
  });
});

import type { Json, JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { applyVariables, coerce, VariableError, variablesBody } from './variables.ts';

const DRAFT_VARIABLES: JsonObject = {
  a: { id: 'a', name: 'Rate', type: 'number', value: 1 },
  b: { id: 'b', name: 'City', type: 'string', value: 'Oslo' },
};

function apply(operations: Json[], draftVariables = DRAFT_VARIABLES) {
  let idCount = 0;
  const parsed = variablesBody.parse({ operations }).operations;
  return applyVariables(draftVariables, parsed, () => `new-${(idCount += 1)}`);
}

describe('variables of a draft', () => {
  it('are added, edited and deleted by name, in order', () => {
    const { variables, changed } = apply([
      { operation: 'add', name: 'Tags', type: 'array', value: '["x"]' },
      { operation: 'edit', name: 'Rate', value: '2.5' },
      { operation: 'edit', name: 'Tags', type: 'plain', value: ['y'] },
      { operation: 'delete', name: 'City' },
      { operation: 'add', name: 'City', type: 'string', value: 5 },
    ]);
    expect(changed).toBe(true);
    expect(variables).toEqual({
      a: { id: 'a', name: 'Rate', type: 'number', value: 2.5 },
      'new-1': { id: 'new-1', name: 'Tags', type: 'plain', value: '["y"]' },
      'new-2': { id: 'new-2', name: 'City', type: 'string', value: '5' },
    });
    expect(DRAFT_VARIABLES['a']).toMatchObject({ value: 1 });
  });

  it('are unchanged by setting the same values and by deleting unknown variables', () => {
    const result = apply([
      { operation: 'edit', name: 'Rate', value: '1' },
      { operation: 'delete', name: '__proto__' },
    ]);
    expect(result).toEqual({ variables: DRAFT_VARIABLES, changed: false });
  });

  it('become strings if their type is unknown', () => {
    const draftVariables = { a: { id: 'a', name: 'Old', type: 'text', value: '' } };
    const { variables } = apply([{ operation: 'edit', name: 'Old', value: 7 }], draftVariables);
    expect(variables['a']).toMatchObject({ type: 'string', value: '7' });
  });

  it.each([
    [{ operation: 'add', name: 'Rate', type: 'number', value: 1 }, 'already'],
    [{ operation: 'edit', name: 'Rat', value: 1 }, 'No variable is named "Rat"'],
    [{ operation: 'edit', name: 'constructor', value: 1 }, 'No variable is named'],
  ])('refuse the operation %j', (operation, message) => {
    expect(() => apply([operation])).toThrow(VariableError);
    expect(() => apply([operation])).toThrow(message);
  });

  it('are limited to 1000', () => {
    const fullVariables = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [
        `v${n}`,
        { id: `v${n}`, name: `v${n}`, type: 'string', value: '' },
      ]),
    );
    expect(() =>
      apply([{ operation: 'add', name: 'one', type: 'string', value: '' }], fullVariables),
    ).toThrow('at most 1000');
  });

  it.each([
    [[]],
    [Array.from({ length: 101 }, () => ({ operation: 'delete', name: 'x' }))],
    [[{ operation: 'delete', name: 'x', value: 1 }]],
    [[{ operation: 'add', name: ' ', type: 'string', value: '' }]],
    [[{ operation: 'add', name: 'x', type: 'text', value: '' }]],
  ])('refuse an invalid list of operations', (operations) => {
    expect(variablesBody.safeParse({ operations }).success).toBe(false);
  });
});

describe('coerce', () => {
  it.each<[Json, Parameters<typeof coerce>[1], Json]>([
    ['5', 'number', 5],
    ['five', 'number', 'five'],
    ['', 'number', ''],
    ['Infinity', 'number', 'Infinity'],
    ['true', 'boolean', true],
    ['yes', 'boolean', 'yes'],
    ['{"a":1}', 'object', { a: 1 }],
    ['[1]', 'object', '[1]'],
    ['[1]', 'array', [1]],
    ['[1', 'array', '[1'],
    [5, 'string', '5'],
    [{ a: 1 }, 'string', '{"a":1}'],
    [null, 'string', null],
  ])('converts %j to the type %s: %j', (input, type, value) => {
    expect(coerce(input, type)).toEqual(value);
  });
});

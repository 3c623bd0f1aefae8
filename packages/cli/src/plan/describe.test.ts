import type { Plan } from '@heddle/core';
import { expect, it } from 'vitest';
import { describeInputs } from './describe.ts';

it('describeInputs lists the inputs of a start block with their types, from a list or its JSON string', () => {
  const inputFormat = [
    { name: ' orderId ', type: 'string' },
    { name: ' ' },
    { name: 'items', type: 'array' },
    { name: 'x' },
  ];
  for (const value of [inputFormat, JSON.stringify(inputFormat)]) {
    const blocks = { s: { params: { inputFormat: { kind: 'literal', value } } } };
    expect(describeInputs({ start: 's', blocks } as unknown as Plan)).toBe(
      'orderId string, items array, x string',
    );
  }
});

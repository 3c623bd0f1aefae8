import type { Plan } from '@heddle/core';
import { expect, it } from 'vitest';
import { inputsOf } from './describe.ts';

it('the inputs of a start block are listed with their types, from rows or their JSON text', () => {
  const rows = [
    { name: ' orderId ', type: 'string' },
    { name: ' ' },
    { name: 'items', type: 'array' },
    { name: 'x' },
  ];
  for (const value of [rows, JSON.stringify(rows)]) {
    const blocks = { s: { params: { inputFormat: { kind: 'literal', value } } } };
    expect(inputsOf({ start: 's', blocks } as unknown as Plan)).toBe('orderId string, items array, x string');
  }
});

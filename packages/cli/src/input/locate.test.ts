import { describe, expect, it } from 'vitest';
import { createLocator } from './locate.ts';

const STATE = '{"blocks": {"a": {\n  "name": "A",\n  "edges": [1, 2]}}, "edges": [\n {"source": "a"}]}';

describe('a position in a file', () => {
  it.each([
    ['bare', STATE, 0],
    ['state', `{"state":\n${STATE}}`, 1],
    ['data', `{"data":\n${STATE}}`, 1],
    ['data.state', `{"data": {"state":\n${STATE}}}`, 1],
  ])('is found in each form of a file: %s', (_, text, lineOffset) => {
    const find = createLocator(text);
    expect(find(['blocks', 'a', 'name'])).toEqual({ line: 2 + lineOffset, column: 11 });
    expect(find(['edges', 0, 'source'])).toEqual({ line: 4 + lineOffset, column: 13 });
  });

  it('of a missing value is the position of the enclosing value', () => {
    expect(createLocator(STATE)(['blocks', 'a', 'subBlocks', 'code'])).toEqual({ line: 1, column: 18 });
  });

  it('of a duplicate key is the position of the last one', () => {
    expect(createLocator('{"blocks": {},\n"blocks": {"x": 1}}')(['blocks', 'x'])).toEqual({
      line: 2,
      column: 17,
    });
  });

  it('is found after a byte order mark', () => {
    expect(createLocator('\uFEFF{"blocks": 1}')(['blocks'])).toEqual({ line: 1, column: 12 });
  });
});

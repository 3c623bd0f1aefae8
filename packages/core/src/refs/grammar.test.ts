import { describe, expect, it } from 'vitest';
import { hasOnlyWords, placeholderAt, tagAt } from './grammar.ts';

const tagOf = (text: string) => tagAt(text, 0, text.length);

describe('a tag', () => {
  it.each([
    ['<start.n>', 'start', 'n'],
    ['<start>', 'start', undefined],
    ['<My First Block.result[0].x>', 'My First Block', 'result[0].x'],
    ['<p..result>', 'p', '.result'],
    ['<p.result.>', 'p', 'result.'],
    ['<a_b-c(1).x>', 'a_b-c(1)', 'x'],
    ['<überblock.x>', 'überblock', 'x'],
    ['<emoji😀.x>', 'emoji😀', 'x'],
    ['<p.result[-1]>', 'p', 'result[-1]'],
  ])('%s may be a reference', (text, root, path) => {
    expect(tagOf(text)).toEqual({ start: 0, end: text.length, text, root, path, shape: 'plain' });
  });

  it.each([
    ['<p.result.odd key>', 'with-space'],
    ['<variable.My Var>', 'with-space'],
    ['<a+b.result>', 'with-operator'],
    ['<a.b=c>', 'with-operator'],
    ['<a/b>', 'with-operator'],
    ['<a.b!c>', 'with-operator'],
  ])('%s has the shape %s: it is a tag, but not a reference by itself', (text, shape) => {
    expect(tagOf(text)?.shape).toBe(shape);
  });

  it.each([
    '<>',
    '< a>',
    '< p.result.a >',
    '<p.a >',
    '<5>',
    '<3 && 5>',
    '<a<b>',
    '<a',
    '<a\nb>',
    '<',
    '< 5 && b >',
  ])('%j is not a tag', (text) => {
    expect(tagOf(text)).toBeUndefined();
  });

  it('ends before the limit of its literal', () => {
    expect(tagAt('<a", "b.c>', 0, 2)).toBeUndefined();
    expect(tagAt('x<a.b>y', 1, 6)?.text).toBe('<a.b>');
    expect(tagAt('x<a.b>y', 1, 5)).toBeUndefined();
  });
});

describe('a placeholder', () => {
  it.each([
    ['{{K}}', 'K'],
    ['{{ K }}', ' K '],
    ['{{MY_KEY-2}}', 'MY_KEY-2'],
    ['{{a:1}}', 'a:1'],
  ])('%s has the exact name %j', (text, name) => {
    expect(placeholderAt(text, 0, text.length)).toEqual({ start: 0, end: text.length, text, name });
  });

  it.each(['{{}}', '{K}', '{{K}', '{{K} }', '{{K', '{', '{{{K}}}', '{{<a.b>}}', '{{a\n}}'])(
    '%j is not a placeholder',
    (text) => {
      expect(placeholderAt(text, 0, text.length)).toBeUndefined();
    },
  );

  it('begins at the innermost braces', () => {
    expect(placeholderAt('{{{K}}}', 1, 7)?.name).toBe('K');
  });
});

describe('the text inside a tag', () => {
  it.each(['a.b', 'my block.x[0]', 'überblock.x', 'a-b.c_d$'])('%s has no operator', (inner) => {
    expect(hasOnlyWords(inner)).toBe(true);
  });

  it.each(['a.b&&c', 'a.b || c', 'a, b', 'f(x).y', 'a;b.c', 'a.b?c:d', '"a.b'])(
    '%s could be code',
    (inner) => {
      expect(hasOnlyWords(inner)).toBe(false);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { tagAt } from './grammar.ts';
import { buildNames, type NamedBlock } from './names.ts';
import { readTag, type TemplateContext } from './read-tag.ts';
import type { Reference } from './template.ts';

const block = (id: string, type: string, parentId?: string): NamedBlock => ({
  id,
  name: id,
  type,
  enabled: true,
  ...(parentId === undefined ? {} : { parentId }),
});

/** top · P( a · L( b · Q( c ) ) · M( d ) ) · R( e ): P, Q and R are parallels, L and M are loops. */
const names = buildNames(
  [
    block('top', 'function'),
    block('P', 'parallel'),
    block('a', 'function', 'P'),
    block('L', 'loop', 'P'),
    block('b', 'function', 'L'),
    block('Q', 'parallel', 'L'),
    block('c', 'function', 'Q'),
    block('M', 'loop', 'P'),
    block('d', 'function', 'M'),
    block('R', 'parallel'),
    block('e', 'function', 'R'),
  ],
  [{ id: 'v1', name: 'My Var' }],
);

function read(text: string, blockId: string, fieldPosition: TemplateContext['fieldPosition'] = 'ordinary') {
  const tag = tagAt(text, 0, text.length);
  if (tag === undefined) throw new Error(`${text} is not a tag`);
  return readTag(tag, { names, blockId, fieldPosition });
}

function referenceOf(
  text: string,
  blockId: string,
  fieldPosition?: TemplateContext['fieldPosition'],
): Reference {
  const meaning = read(text, blockId, fieldPosition);
  if (meaning.kind !== 'reference') throw new Error(`${text} is not a reference: ${meaning.kind}`);
  return meaning.ref;
}

describe('a reference to a block', () => {
  it.each([
    ['top', 'a', 0, ['P']],
    ['top', 'c', 0, ['P', 'Q']],
    ['a', 'top', 1, []],
    ['a', 'b', 0, []],
    ['a', 'c', 0, ['Q']],
    ['c', 'a', 1, []],
    ['c', 'b', 1, []],
    ['c', 'c', 0, []],
    ['c', 'top', 2, []],
    ['c', 'd', 1, []],
    ['c', 'e', 2, ['R']],
    ['d', 'c', 0, ['Q']],
  ])('from %s to %s leaves and enters the parallels between them', (blockId, target, up, into) => {
    expect(referenceOf(`<${target}.result.x[0]>`, blockId)).toEqual({
      kind: 'block',
      text: `<${target}.result.x[0]>`,
      block: target,
      up,
      into,
      path: ['result', 'x', { index: 0 }],
    });
  });

  it('finds the block by its name in any case and with any spaces; without a path it means the whole output', () => {
    expect(referenceOf('<T OP>', 'a')).toMatchObject({ kind: 'block', block: 'top', path: [] });
  });

  it('never finds the block by its id if the name differs', () => {
    const otherNames = buildNames([{ id: 'blk-1', name: 'P', type: 'function', enabled: true }], []);
    const tag = tagAt('<blk-1.result>', 0, 14);
    expect(tag && readTag(tag, { names: otherNames, blockId: 'blk-1', fieldPosition: 'ordinary' })).toEqual({
      kind: 'unknown-block',
    });
  });

  it('of a container reads its error, inside and outside', () => {
    expect(referenceOf('<L.error>', 'top')).toMatchObject({
      kind: 'block',
      block: 'L',
      into: ['P'],
      path: ['error'],
    });
    expect(referenceOf('<L.error>', 'b')).toMatchObject({
      kind: 'block',
      block: 'L',
      up: 0,
      path: ['error'],
    });
  });
});

describe('a generic container reference', () => {
  it.each([
    ['<loop.index>', 'b', 'L', 0, 'index'],
    ['<loop.iteration>', 'c', 'L', 1, 'index'],
    ['<loop.item>', 'd', 'M', 0, 'currentItem'],
    ['<loop.currentItem>', 'd', 'M', 0, 'currentItem'],
    ['<loop.items>', 'c', 'L', 1, 'items'],
    ['<loop>', 'c', 'L', 1, 'all'],
    ['<parallel.index>', 'c', 'Q', 0, 'index'],
    ['<parallel.index>', 'b', 'P', 0, 'index'],
    ['<parallel>', 'd', 'P', 0, 'all'],
  ])(
    '%s in %s is the innermost container of its kind, even across containers of another kind (V138-V200)',
    (text, blockId, ...[container, up, field]) => {
      expect(referenceOf(text, blockId)).toEqual({
        kind: 'container',
        text,
        block: container,
        up,
        field,
        path: [],
        generic: true,
      });
    },
  );

  it('takes a path into the item', () => {
    expect(referenceOf('<loop.currentItem.k.d[0]>', 'b')).toMatchObject({
      field: 'currentItem',
      path: ['k', 'd', { index: 0 }],
    });
    expect(referenceOf('<loop.items[1].k>', 'b')).toMatchObject({
      field: 'items',
      path: [{ index: 1 }, 'k'],
    });
  });

  it('reads the results of an earlier execution with results or result (r431)', () => {
    for (const text of ['<loop.results>', '<loop.result>']) {
      expect(referenceOf(text, 'c')).toEqual({
        kind: 'results',
        text,
        block: 'L',
        up: 1,
        into: [],
        whole: false,
        path: [],
        generic: true,
      });
    }
  });

  it.each(['<loop.index>', '<loop>', '<loop.foo>'])('%s outside all loops names nothing', (text) => {
    expect(read(text, 'a')).toEqual({ kind: 'unknown-block' });
    expect(read('<parallel.index>', 'top')).toEqual({ kind: 'unknown-block' });
  });

  it.each([
    ['<loop.foo>', 'b'],
    ['<loop.>', 'b'],
    ['<loop.[0]>', 'b'],
    ['<parallel.iteration>', 'c'],
    ['<parallel.foo.bar>', 'c'],
    ['<loop.error>', 'b'],
  ])('%s fails when it is reached, and lists the available fields (r423, r597)', (text, blockId) => {
    const ref = referenceOf(text, blockId);
    expect(ref).toMatchObject({ kind: 'invalid', text });
    expect(ref.kind === 'invalid' && ref.message).toMatch(/Available fields: index, currentItem and items/);
  });
});

describe('a container by name', () => {
  it.each([
    ['<L.index>', 'c', 1, 'index'],
    ['<P.index>', 'c', 1, 'index'],
    ['<Q.index>', 'c', 0, 'index'],
    ['<P.currentItem>', 'd', 0, 'currentItem'],
    ['<L>', 'b', 0, 'all'],
  ])('%s in %s is resolved at any depth', (text, blockId, up, field) => {
    expect(referenceOf(text, blockId)).toMatchObject({ kind: 'container', up, field });
    expect(referenceOf(text, blockId)).not.toHaveProperty('generic');
  });

  it.each([
    ['<L>', true, []],
    ['<L.results>', false, []],
    ['<L.result[0][1].id>', false, [{ index: 0 }, { index: 1 }, 'id']],
  ])('%s outside the container refers to its results (V161-V174)', (text, whole, path) => {
    expect(referenceOf(text, 'top')).toEqual({
      kind: 'results',
      text,
      block: 'L',
      up: 0,
      into: ['P'],
      whole,
      path,
    });
  });

  it('results inside the container are those of the earlier execution', () => {
    expect(referenceOf('<Q.results>', 'c')).toMatchObject({
      kind: 'results',
      block: 'Q',
      up: 1,
      into: [],
      whole: false,
    });
  });

  it.each(['<L.index>', '<L.currentItem>', '<L.foo>'])(
    '%s outside fails and lists results only (r427)',
    (text) => {
      const ref = referenceOf(text, 'top');
      expect(ref.kind === 'invalid' && ref.message).toMatch(/Available fields: results\.$/);
    },
  );
});

describe('a container that evaluates its own fields', () => {
  it('sees the containers around it in its collection, not itself', () => {
    expect(referenceOf('<loop.currentItem>', 'Q', 'container')).toMatchObject({ block: 'L', up: 0 });
    expect(referenceOf('<L.currentItem>', 'Q', 'container')).toMatchObject({ kind: 'container', block: 'L' });
    expect(referenceOf('<parallel.currentItem>', 'Q', 'container')).toMatchObject({ block: 'P', up: 0 });
    expect(referenceOf('<parallel.currentItem>', 'M', 'container')).toMatchObject({ block: 'P', up: 0 });
    expect(referenceOf('<M.index>', 'M', 'container')).toMatchObject({ kind: 'invalid' });
    expect(read('<loop.index>', 'M', 'container')).toEqual({ kind: 'unknown-block' });
  });

  it('sees its own index and its body in its condition', () => {
    expect(referenceOf('<loop.index>', 'L', 'condition')).toMatchObject({
      kind: 'container',
      block: 'L',
      up: 0,
    });
    expect(referenceOf('<L.index>', 'L', 'condition')).toMatchObject({
      kind: 'container',
      block: 'L',
      up: 0,
    });
    expect(referenceOf('<parallel.index>', 'L', 'condition')).toMatchObject({ block: 'P', up: 0 });
    expect(referenceOf('<b.result>', 'L', 'condition')).toMatchObject({ kind: 'block', up: 0, into: [] });
    expect(referenceOf('<c.result>', 'L', 'condition')).toMatchObject({ kind: 'block', up: 0, into: ['Q'] });
  });
});

describe('a variable', () => {
  it.each([
    ['<variable.My Var>', []],
    ['<variable.myvar.k[0]>', ['k', { index: 0 }]],
    ['<VARIABLE.MYVAR[1][2].k>', [{ index: 1 }, { index: 2 }, 'k']],
    ['<variable.v1>', []],
    ['<variable.myvar[-1]>', [{ index: null }]],
  ])('%s is found by name or id', (text, path) => {
    expect(referenceOf(text, 'top')).toEqual({ kind: 'variable', text, variable: 'v1', path });
  });

  it('that does not exist is reported', () => {
    expect(read('<variable.ghost.x>', 'top')).toEqual({ kind: 'unknown-variable', name: 'ghost' });
    expect(read('<variable>', 'top')).toEqual({ kind: 'text' });
  });

  it('reserves its root, like loop and parallel', () => {
    const reservedNames = buildNames(
      ['loop', 'parallel', 'variable'].map((id) => block(id, 'function')),
      [],
    );
    for (const root of ['loop', 'parallel', 'variable']) {
      const tag = tagAt(`<${root}.result>`, 0, root.length + 9);
      const context = { names: reservedNames, blockId: 'loop', fieldPosition: 'ordinary' } as const;
      expect(tag && readTag(tag, context).kind).toMatch(/^unknown/);
    }
  });
});

import { describe, expect, it } from 'vitest';
import {
  buildNames,
  findVariable,
  type NamedBlock,
  neverRuns,
  normalizeName,
  suggestBlock,
  suggestVariable,
} from './names.ts';

const block = (id: string, properties: Partial<NamedBlock> = {}): NamedBlock => ({
  id,
  name: id,
  type: 'function',
  enabled: true,
  ...properties,
});

describe('a normalised name', () => {
  it.each([
    ['My First Block', 'myfirstblock'],
    ['MyBlock.v2', 'myblockv2'],
    ['Tab\tName\u00a0', 'tabname'],
    ['Über Block', 'überblock'],
    ['日本', '日本'],
    ['...', ''],
  ])('%j is %j', (name, normalised) => {
    expect(normalizeName(name)).toBe(normalised);
  });
});

describe('the table of names', () => {
  it('assigns a name that two blocks share to the first one (r062)', () => {
    const names = buildNames([block('a', { name: 'My Block' }), block('b', { name: 'my block' })], []);
    expect(names.blockByName.get('myblock')?.id).toBe('a');
  });

  it.each([
    ['after', ['a.b', 'ab']],
    ['before', ['ab', 'a.b']],
  ])('assigns a shared name to the block without dots in its name, %s the other (V55-V60)', (_, order) => {
    const names = buildNames(
      order.map((name) => block(name)),
      [],
    );
    expect(names.blockByName.get('ab')?.id).toBe('ab');
  });

  it('lists the containers around each block, outermost first', () => {
    const names = buildNames(
      [
        block('f', { parentId: 'in' }),
        block('in', { type: 'loop', parentId: 'out' }),
        block('out', { type: 'parallel' }),
      ],
      [],
    );
    expect(names.containers.get('f')?.map(({ id }) => id)).toEqual(['out', 'in']);
    expect(names.containers.get('out')).toEqual([]);
  });

  it('ends a broken or cyclic chain of parents', () => {
    const names = buildNames(
      [block('a', { parentId: 'b' }), block('b', { parentId: 'a' }), block('c', { parentId: 'gone' })],
      [],
    );
    expect(names.containers.get('a')?.map(({ id }) => id)).toEqual(['b']);
    expect(names.containers.get('c')).toEqual([]);
  });

  it('finds a variable by normalised name, then by exact id (V241-V258)', () => {
    const variables = [
      { id: 'v-1', name: 'My Var' },
      { id: 'myvar', name: 'other' },
    ];
    const names = buildNames([], variables);
    for (const name of ['My Var', 'myvar', 'MYVAR', 'my var', 'v-1'])
      expect(findVariable(names, name)?.id).toBe('v-1');
    expect(findVariable(names, 'V-1')).toBeUndefined();
    expect(findVariable(names, '')).toBeUndefined();
  });

  it('identifies blocks that can never run: disabled, or inside a disabled container', () => {
    const blocks = [
      block('a', { enabled: false }),
      block('L', { type: 'loop', enabled: false }),
      block('b', { parentId: 'L' }),
      block('c'),
    ];
    const names = buildNames(blocks, []);
    expect(blocks.map((candidate) => neverRuns(names, candidate))).toEqual([true, true, true, false]);
  });

  it('suggests the normalised name of the nearest block or variable', () => {
    const names = buildNames([block('x', { name: 'Fetch Data' })], [{ id: 'v', name: 'Max Items' }]);
    expect(suggestBlock(names, 'Fecth Data')).toEqual({ name: 'fetchdata', distance: 1 });
    expect(suggestVariable(names, 'MaxItem')).toEqual({ name: 'maxitems', distance: 1 });
    expect(suggestBlock(names, 'nosuch')).toBeUndefined();
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox } from '@heddle/sandbox';
import type { CollectionSource, Json } from '@heddle/core/blocks';
import { failureOf, compileField, compileLoopExpression, lookupOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { expandContainer } from './container.ts';
import type { ExpansionContext } from './container.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const createContext = (
  fixture: BlockFixture,
  overrides: Partial<ExpansionContext> = {},
): ExpansionContext => ({
  runId: 'run-1',
  lookup: lookupOf(fixture),
  sandbox: () => Promise.reject(new Error('no sandbox is needed here')),
  signal: new AbortController().signal,
  ...overrides,
});

const createContextWithSandbox = (fixture: BlockFixture): ExpansionContext => {
  return createContext(fixture, { sandbox: async () => sandbox });
};

const FIXTURE: BlockFixture = {
  outputs: {
    P: {
      result: {
        l: [1, 'c'],
        o: { a: 1, b: [2] },
        s: 'text',
        j: '[1,2]',
        n: 3,
        u: null,
        b: false,
        e: [],
        t: ' 4 ',
      },
    },
  },
  unexecutedBlocks: ['X'],
  env: { A: 'x"y' },
};

const itemsOf = async (collection: CollectionSource): Promise<Json[] | undefined> =>
  (await expandContainer({ kind: 'forEach', collection }, createContext(FIXTURE))).items;

const createReference = (path: string): CollectionSource => {
  const template = compileField(`<${path}>`, FIXTURE);
  const part = template.kind === 'text' ? template.parts[0] : undefined;
  if (part === undefined || typeof part === 'string' || !('ref' in part))
    throw new Error(`${path} is not a reference`);
  return { reference: part.ref };
};

describe('a collection', () => {
  it.each<[string, Json[]]>([
    ['p.result.l', [1, 'c']],
    [
      'p.result.o',
      [
        ['a', 1],
        ['b', [2]],
      ],
    ],
    ['p.result.e', []],
    ['p.result.u', []],
    ['p.result.zz', []],
    ['x.result', []],
  ])(
    'of <%s> has its items, the pairs of an object, or nothing for null and empty values (r455–r491)',
    async (path, items) => {
      expect(await itemsOf(createReference(path))).toEqual(items);
    },
  );

  it.each(['p.result.s', 'p.result.n', 'p.result.b', 'p.result.j'])(
    'cannot be <%s> (r460–r468)',
    async (path) => {
      expect(await failureOf(() => itemsOf(createReference(path)))).toMatchObject({
        code: 'COLLECTION_INVALID',
        message: expect.stringContaining(`<${path}>`) as string,
      });
    },
  );

  it('does not parse JSON text from a reference, and the error message contains a hint (r461)', async () => {
    expect((await failureOf(() => itemsOf(createReference('p.result.j')))).message).toContain(
      'Parse JSON text first',
    );
  });

  it('comes from the plan if it is constant', async () => {
    expect(
      await expandContainer(
        { kind: 'parallelCollection', collection: { static: [1, 2] } },
        createContext(FIXTURE),
      ),
    ).toEqual({ count: 2, items: [1, 2] });
  });

  it('resolves placeholders after parsing, so a value cannot break it (r409)', async () => {
    expect(await itemsOf({ template: compileField(['{{A}}', 'b'], FIXTURE) })).toEqual(['x"y', 'b']);
  });

  it('fails the container with the message of the compiler if it is invalid (r438, r447)', async () => {
    expect(await failureOf(() => itemsOf({ invalid: 'The collection is not JSON.' }))).toMatchObject({
      code: 'COLLECTION_INVALID',
      message: 'The collection is not JSON.',
    });
  });
});

describe('a count', () => {
  const expandFor = (text: string, expansionContext = createContext(FIXTURE)): Promise<unknown> =>
    expandContainer(
      { kind: 'for', count: { expression: compileLoopExpression(text, FIXTURE) } },
      expansionContext,
    );

  it.each([
    ['<p.result.n>', 3],
    ['<p.result.t>', 4],
  ])('of %s needs no sandbox (r419)', async (text, expected) => {
    expect(await expandFor(text)).toEqual({ count: expected });
  });

  it('evaluates an expression', async () => {
    expect(await expandFor('<p.result.n> * 2', createContextWithSandbox(FIXTURE))).toEqual({ count: 6 });
  });

  it.each(['<p.result.s>', '<p.result.u>', '<p.result.b>', '<p.result.l>'])(
    'cannot be %s: it must be a whole number of at least 1',
    async (text) => {
      expect(await failureOf(() => expandFor(text))).toMatchObject({
        code: 'COUNT_INVALID',
        message: expect.stringContaining(text) as string,
      });
    },
  );

  it.each(['0', '2.5', '-1'])('of %s fails the container', async (text) => {
    expect(await failureOf(() => expandFor(`${text} + 0`, createContextWithSandbox(FIXTURE)))).toMatchObject({
      code: 'COUNT_INVALID',
    });
  });

  it('comes from the plan if it is constant', async () => {
    expect(
      await expandContainer({ kind: 'parallelCount', count: { static: 7 } }, createContext(FIXTURE)),
    ).toEqual({
      count: 7,
    });
  });
});

describe('a loop condition', () => {
  const expandWhile = (text: string): Promise<unknown> =>
    expandContainer(
      { kind: 'while', condition: compileLoopExpression(text, FIXTURE) },
      createContextWithSandbox(FIXTURE),
    );

  it.each([
    ['<p.result.n> < 4', 1],
    ['<p.result.n> > 4', 0],
    ['true; // yes', 1],
    ['<p.result.s> === "text"', 1],
  ])('%s runs %i more iterations (r496–r523)', async (text, expected) => {
    expect(await expandWhile(text)).toEqual({ count: expected });
  });

  it('ends a while loop if the condition is absent (r497)', async () => {
    expect(await expandContainer({ kind: 'while', condition: null }, createContext(FIXTURE))).toEqual({
      count: 0,
    });
    expect(
      await expandContainer(
        { kind: 'while', condition: compileLoopExpression(' // nothing') },
        createContext(FIXTURE),
      ),
    ).toEqual({ count: 0 });
  });

  it.each(['nope > 1', '1 +', 'null.x', 'return true'])(
    '%s fails the container and is never read as false (r502–r509)',
    async (text) => {
      expect(await failureOf(() => expandWhile(text))).toMatchObject({
        code: 'EXPRESSION_FAILED',
        message: expect.stringContaining(`\`${text}\``) as string,
      });
    },
  );
});

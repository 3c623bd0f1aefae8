import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../test/support/block.ts';
import { readFields } from './define.ts';
import { blocks, describeBlocks } from './index.ts';
import { routerV2 } from './router/router-v2.ts';

const descriptions = await describeBlocks();

describe('the blocks', () => {
  it('are described, each with a summary and a description for each field and output', () => {
    const types = blocks().flatMap((executor) => executor.types);
    expect(descriptions.map(({ type }) => type)).toEqual(expect.arrayContaining(types));
    for (const { type, summary, fields, outputs } of descriptions) {
      expect(summary, type).toMatch(/^[A-Z].*\.$/);
      const propertyEntries = (types.includes(type) ? [fields, outputs] : [fields]).flatMap(
        ({ properties }) => Object.entries(properties as object),
      );
      const entriesWithoutDescription = propertyEntries.filter(
        ([, schema]) => !isJsonObject(schema) || schema['description'] === undefined,
      );
      expect(entriesWithoutDescription, type).toEqual([]);
    }
  });

  it.each([
    [
      'slack',
      'channel',
      'Id or name of the channel, or id of a user for a direct message (send); ' +
        'Id or name of the channel, such as C0123456789 or #general (update, delete, read, react)',
    ],
    ['exa', 'query', 'Search query (exa_search); Question to answer (exa_answer)'],
    [
      'postgresql',
      'data',
      'A row, or a list of rows with the same columns. Each row is an object whose keys are the names of the columns (insert); ' +
        'Object with the new values, whose keys are the names of the columns (update)',
    ],
    ['postgresql', 'table', 'Name of the table, such as orders or sales.orders'],
  ])('of %s describe %s with all its meanings', (type, field, expected) => {
    const block = descriptions.find((description) => description.type === type);
    expect(block?.fields['properties']).toMatchObject({ [field]: { description: expected } });
  });
});

describe('the fields of agents', () => {
  it('include all that the executor reads', () => {
    const folder = new URL('.', import.meta.url).pathname;
    const sources = globSync(`${folder}{agent,models}/*.ts`).filter((file) => !file.endsWith('.test.ts'));
    const readNames = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\b(?:field|text|numberOf)\((?:context, )?'(\w+)'/g)].map(
        ([, name = '']) => name,
      ),
    );
    const agent = descriptions.find(({ type }) => type === 'agent');
    const names = Object.keys(agent?.fields['properties'] as object);
    expect(readNames.length).toBeGreaterThan(10);
    expect(readNames.filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('fields', () => {
  const routes = '[{"id": "a", "title": "<x.v>"}]';

  it('are read by their types: text as text, numbers as numbers, and lists as JSON whose structure no reference can change', () => {
    const context = contextOf({
      type: 'router_v2',
      params: { context: '<x.o>', routes, temperature: '<x.n>', model: null },
      outputs: { X: { v: '"},{"id": "b', o: { k: 1 }, n: '0.5' } },
    });
    expect(readFields(routerV2.fields, context)).toEqual({
      context: '{"k":1}',
      routes: [{ id: 'a', title: '"},{"id": "b', value: '' }],
      temperature: 0.5,
    });
  });

  it('that do not match are refused, with all problems in one error', async () => {
    const context = contextOf({
      type: 'router_v2',
      params: { context: '', routes, temperature: 'hot' },
      outputs: { X: { v: 1 } },
    });
    const failure = await failureOf(() => readFields(routerV2.fields, context));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toMatch(
      /The block "Self" has fields that it cannot use: "context" is empty; .*"temperature": /,
    );
  });
});

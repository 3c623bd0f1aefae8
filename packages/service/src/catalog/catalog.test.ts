import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import { Catalog } from './catalog.ts';
import type { BlockDescription, CatalogQuery } from './catalog.ts';

function descriptionOf(type: string, fields: JsonObject = {}, keywords: JsonObject = {}): BlockDescription {
  return {
    type,
    summary: `Does ${type}.`,
    fields: { type: 'object', properties: fields, ...keywords },
    outputs: { type: 'object', properties: { done: { type: 'boolean', description: 'Whether it is.' } } },
  };
}

function catalogOf(...blocks: BlockDescription[]): Catalog {
  return new Catalog(() => Promise.resolve(blocks));
}

const DEFAULT_QUERY: CatalogQuery = { sortBy: 'id', sortOrder: 'asc', limit: 50 };

async function listIds(catalog: Catalog, query: Partial<CatalogQuery> = {}): Promise<string[]> {
  return (await catalog.list({ ...DEFAULT_QUERY, ...query })).page.map(({ id }) => id);
}

describe('Catalog', () => {
  const catalog = catalogOf(
    descriptionOf('wait'),
    { ...descriptionOf('acme_mail'), source: 'custom' },
    descriptionOf('start_trigger'),
    descriptionOf('api'),
  );

  it('lists types by id, name or category, in both orders', async () => {
    expect(await listIds(catalog)).toEqual(['acme_mail', 'api', 'start_trigger', 'wait']);
    expect(await listIds(catalog, { sortOrder: 'desc' })).toEqual([
      'wait',
      'start_trigger',
      'api',
      'acme_mail',
    ]);
    expect(await listIds(catalog, { sortBy: 'name' })).toEqual(['api', 'acme_mail', 'start_trigger', 'wait']);
    expect(await listIds(catalog, { sortBy: 'category', sortOrder: 'desc' })).toEqual([
      'start_trigger',
      'wait',
      'api',
      'acme_mail',
    ]);
  });

  it('filters by case-insensitive text, category, capability and source', async () => {
    expect(await listIds(catalog, { search: 'DOES W' })).toEqual(['wait']);
    expect(await listIds(catalog, { search: '%' })).toEqual([]);
    expect(await listIds(catalog, { category: 'triggers' })).toEqual(['start_trigger']);
    expect(await listIds(catalog, { capability: 'trigger' })).toEqual(['start_trigger']);
    expect(await listIds(catalog, { source: 'custom' })).toEqual(['acme_mail']);
    expect(await listIds(catalog, { category: 'tools' })).toEqual([]);
  });

  it.each(['asc', 'desc'] as const)('has every type on exactly one page, %s', async (sortOrder) => {
    const query: CatalogQuery = { ...DEFAULT_QUERY, sortBy: 'category', sortOrder, limit: 1 };
    const listedIds: string[] = [];
    let afterPosition: CatalogQuery['afterPosition'];
    do {
      const { page, next } = await catalog.list({ ...query, afterPosition });
      listedIds.push(...page.map(({ id }) => id));
      afterPosition = next;
    } while (afterPosition);
    expect(listedIds).toEqual(await listIds(catalog, { sortBy: 'category', sortOrder }));
  });

  it('describes fields with the control that edits them', async () => {
    const fields: JsonObject = {
      method: { enum: ['GET', 'POST'], default: 'GET', description: 'The method.' },
      apiKey: { type: 'string' },
      maxTokens: { type: 'string' },
      retries: { type: 'integer', minimum: 0, maximum: 10 },
      cached: { anyOf: [{ type: 'boolean' }, { type: 'string', enum: ['true', 'false'] }] },
      rows: { type: 'array', items: { $ref: '#/$defs/row' } },
      anything: {},
    };
    const definitions = { row: { type: 'object' } };
    const detail = await catalogOf(
      descriptionOf('x', fields, { required: ['method', 'apiKey'], $defs: definitions }),
    ).find('x');
    expect(detail?.inputSchema).toEqual([
      {
        id: 'method',
        type: 'dropdown',
        options: [{ id: 'GET' }, { id: 'POST' }],
        description: 'The method.',
        defaultValue: 'GET',
      },
      { id: 'apiKey', type: 'short-input', password: true, required: true },
      { id: 'maxTokens', type: 'long-input' },
      { id: 'retries', type: 'short-input', integer: true, min: 0, max: 10 },
      { id: 'cached', type: 'switch' },
      { id: 'rows', type: 'code', language: 'json' },
      { id: 'anything', type: 'long-input' },
    ]);
    expect(detail?.inputDefinitions['rows']).toEqual({
      type: 'array',
      schema: { ...(fields['rows'] as JsonObject), $defs: definitions },
    });
    expect(detail?.inputDefinitions['anything']).toEqual({ type: 'any', schema: {} });
    expect(detail?.outputs).toEqual({ done: { type: 'boolean', description: 'Whether it is.' } });
  });

  it('has triggers only for types that start runs, and finds no unknown type', async () => {
    const trigger = await catalog.find('start_trigger');
    expect(trigger?.triggers.map(({ id }) => id)).toEqual(['start_trigger']);
    expect((await catalog.find('api'))?.triggers).toEqual([]);
    for (const id of ['none', '__proto__', 'constructor']) expect(await catalog.find(id)).toBeUndefined();
  });

  it('reads the descriptions once, and again after a failure', async () => {
    let callCount = 0;
    const flakyCatalog = new Catalog(async () => {
      callCount += 1;
      if (callCount === 1) throw new Error('not now');
      return [descriptionOf('api')];
    });
    await expect(flakyCatalog.find('api')).rejects.toThrow('not now');
    await flakyCatalog.find('api');
    await flakyCatalog.list(DEFAULT_QUERY);
    expect(callCount).toBe(2);
  });
});

import type { JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import type { Context } from '../define.ts';
import { integration } from './postgresql/postgresql.ts';
import { createNativeTool } from './run.ts';

const context = { block: { name: 'Agent' } } as Context;

function schemaOf(config: JsonObject) {
  const schema = createNativeTool(context, { type: 'postgresql', ...config }, integration)?.definition
    .inputSchema;
  return schema as { properties: JsonObject; required?: string[] };
}

describe('an agent tool of a native integration', () => {
  it('offers the model neither connection settings nor SQL conditions', () => {
    for (const operation of Object.keys(integration.operations)) {
      const names = Object.keys(schemaOf({ operation }).properties);
      expect(names.filter((name) => name === 'where' || Object.hasOwn(integration.settings, name))).toEqual(
        [],
      );
    }
    expect(Object.keys(schemaOf({ toolId: 'postgresql_update' }).properties)).toEqual([
      'table',
      'conditions',
      'row',
    ]);
  });

  it('hides from the model the arguments that the author has set', () => {
    const { properties, required } = schemaOf({
      operation: 'delete',
      params: { table: 'orders', host: 'db' },
    });
    expect([Object.keys(properties), required]).toEqual([['conditions'], undefined]);
  });

  it.each<JsonObject>([
    { operation: 'query', params: { query: 'SELECT 1' } },
    { operation: 'delete', params: { where: 'id = 1' } },
  ])(
    'cannot have a statement from the author, because references would be inserted as text: %j',
    (config) => {
      expect(() => schemaOf(config)).toThrow(/which only a block of PostgreSQL can have/);
    },
  );

  it('refuses arguments that it does not offer to the model', async () => {
    const tool = createNativeTool(context, { type: 'postgresql', operation: 'delete' }, integration);
    const signal = new AbortController().signal;
    const call = {
      idempotencyKey: 'k',
      signal,
      step: 'tool 1.1',
      toolCallId: 'c',
      otherWorkDone: Promise.resolve(),
    };
    await expect(tool?.run({ table: 'orders', host: 'evil.example' }, call)).rejects.toThrow(/do not match/);
  });

  it('does not exist for an operation that the integration does not have', () => {
    expect(
      createNativeTool(context, { type: 'postgresql', operation: 'toString' }, integration),
    ).toBeUndefined();
  });
});

import type { JsonObject } from '@heddle/core/blocks';
import { ArgumentError } from '../openapi/wire.ts';
import { arg, data, defineIntegration, integer, text } from './integration.ts';
import type { IntegrationTool } from './integration.ts';

const table = text('Name of the table', { required: true });
const filter = text(
  'Conditions on the rows in the syntax of PostgREST, such as status=eq.open. Join conditions with &, and percent-encode values',
  { in: 'query' },
);
const select = text('Columns to return, separated by commas; default: all', { in: 'query' });
const rows = data(
  { type: ['object', 'array'], items: { type: 'object' }, minItems: 1 },
  'A row, or a list of rows. Each row is an object whose keys are the names of the columns',
  { required: true, fields: ['data'] },
);

/** Parameters of PostgREST that are not conditions on columns. */
const NON_FILTER_PARAMETERS = new Set(['select', 'order', 'limit', 'offset', 'columns', 'on_conflict']);

/** Replaces the filter with its conditions, which become query parameters. */
function prepare(args: JsonObject): JsonObject {
  if (typeof args['filter'] !== 'string') return args;
  const conditions = new Map<string, string>();
  for (const filterCondition of args['filter'].split('&').filter((candidate) => candidate.trim() !== '')) {
    const [, column = '', condition = ''] = /^([^=]+)=(.+)$/s.exec(filterCondition.trim()) ?? [];
    const name = decode(column).trim();
    if (name === '' || !/^(?:not\.)?(?:\w+(?:\(\w+\))?\.|\()/.test(condition))
      throw new ArgumentError(
        `"filter" has the invalid condition "${filterCondition.slice(0, 100)}": write one such as id=eq.1`,
      );
    if (NON_FILTER_PARAMETERS.has(name))
      throw new ArgumentError(`"filter" has "${name}", which is not a column: set it in a separate field`);
    if (conditions.has(name))
      throw new ArgumentError(`"filter" has "${name}" twice: write and=(${name}.gt.1,${name}.lt.9)`);
    conditions.set(name, decode(condition));
  }
  // Without a condition, an update or deletion would affect all rows.
  if (conditions.size === 0) throw new ArgumentError('"filter" has no condition');
  return { ...args, filter: Object.fromEntries(conditions) };
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    // The value has a literal percent sign, as in like.50%.
    return value;
  }
}

const returnRowsSettings: Pick<IntegrationTool, 'headers'> = { headers: { Prefer: 'return=representation' } };

export const integration = defineIntegration({
  service: 'supabase',
  title: 'Supabase',
  docsUrl: 'https://docs.postgrest.org/en/stable/references/api/tables_views.html',
  // Each project has its own base URL, which the operator configures.
  baseUrl: undefined,
  accountField: 'projectId',
  credential: { type: 'key', in: 'header', name: 'apikey', bearer: true },
  // Codes of PostgREST and of PostgreSQL.
  answer: {
    error: 'message',
    code: 'code',
    errors: {
      auth: ['42501', 'PGRST301', 'PGRST302', 'PGRST303'],
      not_found: ['42P01', 'PGRST205'],
      conflict: ['23503', '23505'],
      temporary: ['57014', 'PGRST000', 'PGRST001', 'PGRST002', 'PGRST003'],
    },
  },
  types: ['supabase'],
  operations: {
    query: 'supabase_query',
    get_row: 'supabase_get_row',
    insert: 'supabase_insert',
    update: 'supabase_update',
    delete: 'supabase_delete',
    upsert: 'supabase_upsert',
  },
  tools: {
    supabase_query: {
      description: 'Returns rows of a table.',
      method: 'GET',
      path: '/rest/v1/{table}',
      arguments: {
        table,
        select,
        filter,
        order: text('Order of the rows, such as created_at.desc', { in: 'query', fields: ['orderBy'] }),
        limit: integer('Maximum number of rows', [1, 10_000], { in: 'query' }),
        offset: integer('Number of rows to skip', [0, 1_000_000_000], { in: 'query' }),
      },
      prepare,
    },
    supabase_get_row: {
      description: 'Returns a list that contains only the first row that matches the filter.',
      method: 'GET',
      path: '/rest/v1/{table}',
      arguments: { table, select, filter: { ...filter, required: true } },
      query: { limit: '1' },
      prepare,
    },
    supabase_insert: {
      description: 'Adds rows to a table.',
      method: 'POST',
      path: '/rest/v1/{table}',
      arguments: { table, rows },
      json: arg('rows'),
      ...returnRowsSettings,
    },
    supabase_update: {
      description: 'Updates the rows that match the filter.',
      method: 'PATCH',
      path: '/rest/v1/{table}',
      arguments: {
        table,
        filter: { ...filter, required: true },
        row: data(
          { type: 'object', minProperties: 1 },
          'Object with the new values, whose keys are the names of the columns',
          {
            required: true,
            fields: ['data'],
          },
        ),
      },
      json: arg('row'),
      idempotent: true,
      prepare,
      ...returnRowsSettings,
    },
    supabase_delete: {
      description: 'Deletes the rows that match the filter.',
      method: 'DELETE',
      path: '/rest/v1/{table}',
      arguments: { table, filter: { ...filter, required: true } },
      prepare,
      ...returnRowsSettings,
    },
    supabase_upsert: {
      description:
        'Inserts rows. If the table already has a row with the same key, this row is updated instead.',
      method: 'POST',
      path: '/rest/v1/{table}',
      arguments: {
        table,
        rows,
        on_conflict: text('Columns that form the key, separated by commas; default: the primary key', {
          in: 'query',
          fields: ['onConflict'],
        }),
      },
      json: arg('rows'),
      headers: { Prefer: 'resolution=merge-duplicates,return=representation' },
      idempotent: true,
    },
  },
});

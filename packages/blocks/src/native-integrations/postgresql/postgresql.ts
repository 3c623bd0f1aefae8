import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { data, text } from '../../integrations/integration.ts';
import { plainText } from '../../openapi/wire.ts';
import { defineNativeIntegration } from '../native-integration.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { conditionProblem } from '../statement.ts';
import {
  columnsOf,
  quoteIdentifier,
  quoteTable,
  serverOf,
  settings,
  invalidArgumentError,
} from './server.ts';
import { runStatement } from './session.ts';
import type { Statement } from './session.ts';

const table = text('Name of the table, such as orders or sales.orders', { required: true });
const query = {
  ...text('One SQL statement. The names of its parameters are $1, $2 and so on', { required: true }),
  isSqlStatement: true as const,
};
const params = data({ type: 'array', maxItems: 1000 }, 'Values of the parameters, in order');
const conditionArguments = {
  where: {
    ...text('Condition on the rows, in SQL, such as id = 7. References in the condition become parameters'),
    isSqlStatement: true as const,
    blocksOnly: true as const,
  },
  conditions: data(
    { type: 'object', minProperties: 1 },
    'Condition on the rows: an object whose keys are the names of columns. A row must match the value of each key. A list of values matches a row that has one of them, and null matches NULL',
  ),
};

interface Condition {
  sql: string;
  values: Json[];
}

/**
 * Returns the condition of an UPDATE or DELETE. Throws TOOL_ARGUMENTS_INVALID if there is none, because the statement
 * would affect all rows.
 */
function conditionOf({ args, values }: NativeToolCall, quotedTable: string): Condition {
  const { where, conditions } = args;
  const predicates: string[] = [];
  const parameters = [...values];
  if (typeof where === 'string') {
    const problem = conditionProblem(where);
    if (problem !== undefined) throw invalidArgumentError(`"where" ${problem}`);
    // The condition is on a separate line, because it can end with a comment.
    predicates.push(`(\n${where}\n)`);
  }
  if (isJsonObject(conditions)) {
    for (const [name, value] of Object.entries(conditions)) {
      const column = quoteIdentifier(name);
      if (value === null) predicates.push(`${column} IS NULL`);
      else {
        // The types of the values come from the table.
        const rows = (Array.isArray(value) ? value : [value]).map((item) => ({ [name]: item }));
        parameters.push(JSON.stringify(rows));
        predicates.push(
          `${column} IN (SELECT ${column} FROM json_populate_recordset(NULL::${quotedTable}, $${parameters.length}::json))`,
        );
      }
    }
  }
  if (predicates.length === 0)
    throw invalidArgumentError('it has neither "where" nor "conditions", and would change all rows');
  return { sql: predicates.join(' AND '), values: parameters };
}

function quotedTableOf({ args }: NativeToolCall): string {
  return quoteTable(plainText(args['table'] ?? ''));
}

/** Returns SQL that reads the rows in a parameter, with the types of the table. */
function rowsSql(quotedTable: string, parameter: number): string {
  return `json_populate_recordset(NULL::${quotedTable}, $${parameter}::json)`;
}

async function run(call: NativeToolCall, statement: Statement): Promise<Json> {
  const server = await serverOf(call);
  if (statement.sql.includes('\0')) throw invalidArgumentError('it has a NUL character');
  const { rows, rowCount } = await runStatement(call.context, server, statement);
  return { message: `${rowCount} ${rowCount === 1 ? 'row' : 'rows'}.`, rows, rowCount };
}

/** Runs the statement in the argument `query`. */
function runQuery(call: NativeToolCall, options: { readOnly: boolean; idempotent: boolean }): Promise<Json> {
  const { query: sql, params } = call.args;
  const values = [...(Array.isArray(params) ? params : []), ...call.values];
  return run(call, { sql: plainText(sql ?? ''), values, ...options });
}

/** Lists the tables of a schema that the user can read, with their columns. */
const LIST_TABLES = `
SELECT table_schema AS schema, table_name AS table, json_agg(json_build_object(
  'name', column_name, 'type', data_type, 'nullable', is_nullable = 'YES', 'default', column_default
) ORDER BY ordinal_position) AS columns
FROM information_schema.columns WHERE table_schema = $1
GROUP BY table_schema, table_name ORDER BY table_name`;

export const integration = defineNativeIntegration({
  service: 'postgresql',
  title: 'PostgreSQL',
  docsUrl: 'https://www.postgresql.org/docs/current/sql-commands.html',
  setupInstructions:
    "The fields `host`, `port`, `database`, `username`, `password` and `ssl` select the database. If `host` is empty, a credential selects the database. Heddle uses the first of these credentials that exists: the stored credential whose id is in the field `credential`, the value of `--credential postgresql=URL`, or the credential that is stored for the provider `postgresql`. A credential is a URL such as `postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full`. It can also be `USER:PASSWORD`; in this case, the option `--service postgresql=postgresql://HOST/DATABASE` selects the database. The [egress policy](../security.md) restricts the host and the port. If no rule sets the allowed ports, these are 5432, 5433, 6432 and 6543.\n\nEach call has its own connection and transaction. If the result has more than 10,000 rows or is larger than 16 MiB, the call fails and changes nothing.\n\nReferences in `query` and `where` become parameters. For example, `WHERE name = '<start.name>'` compares `name` with the value of the reference; the value cannot add SQL. In an SQL identifier in double quotes, the value becomes a part of the identifier. If a field consists of one reference and nothing else, the value of the reference is the SQL itself. In results, dates, `numeric` values and integers beyond 2^53 are strings.",
  types: ['postgresql'],
  settings,
  operations: {
    query: 'postgresql_query',
    insert: 'postgresql_insert',
    update: 'postgresql_update',
    delete: 'postgresql_delete',
    execute: 'postgresql_execute',
    introspect: 'postgresql_introspect',
  },
  outputs: {
    message: 'How many rows were returned or changed.',
    rows: 'The rows, each an object of values keyed by column name.',
    rowCount: 'The number of rows that were returned or changed.',
  },
  tools: {
    postgresql_query: {
      description:
        'Returns the rows of a query. The transaction is read-only: a statement that changes data fails.',
      arguments: { query, params },
      idempotent: true,
      run: (call) => runQuery(call, { readOnly: true, idempotent: true }),
    },
    postgresql_insert: {
      description: 'Adds rows to a table, and returns the added rows.',
      arguments: {
        table,
        rows: data(
          { type: ['object', 'array'], items: { type: 'object' }, minItems: 1, maxItems: 10_000 },
          'A row, or a list of rows with the same columns. Each row is an object whose keys are the names of the columns',
          { required: true, fields: ['data'] },
        ),
      },
      idempotent: false,
      run: (call) => {
        const quotedTable = quotedTableOf(call);
        const rows = [call.args['rows']].flat() as JsonObject[];
        const columns = columnsOf(rows).map(quoteIdentifier).join(', ');
        const sql = `INSERT INTO ${quotedTable} (${columns}) SELECT ${columns} FROM ${rowsSql(quotedTable, 1)} RETURNING *`;
        return run(call, { sql, values: [JSON.stringify(rows)], readOnly: false, idempotent: false });
      },
    },
    postgresql_update: {
      description: 'Updates the rows that match the condition, and returns the updated rows.',
      arguments: {
        table,
        ...conditionArguments,
        row: data(
          { type: 'object', minProperties: 1 },
          'Object with the new values, whose keys are the names of the columns',
          {
            required: true,
            fields: ['data'],
          },
        ),
      },
      idempotent: true,
      run: (call) => {
        const quotedTable = quotedTableOf(call);
        const row = call.args['row'] as JsonObject;
        const { sql: where, values } = conditionOf(call, quotedTable);
        const source = rowsSql(quotedTable, values.length + 1);
        const assignments = columnsOf([row]).map(
          (name) => `${quoteIdentifier(name)} = (SELECT ${quoteIdentifier(name)} FROM ${source})`,
        );
        const sql = `UPDATE ${quotedTable} SET ${assignments.join(', ')} WHERE ${where} RETURNING *`;
        return run(call, {
          sql,
          values: [...values, JSON.stringify([row])],
          readOnly: false,
          idempotent: true,
        });
      },
    },
    postgresql_delete: {
      description: 'Deletes the rows that match the condition, and returns the deleted rows.',
      arguments: { table, ...conditionArguments },
      idempotent: true,
      run: (call) => {
        const quotedTable = quotedTableOf(call);
        const { sql: where, values } = conditionOf(call, quotedTable);
        const sql = `DELETE FROM ${quotedTable} WHERE ${where} RETURNING *`;
        return run(call, { sql, values, readOnly: false, idempotent: true });
      },
    },
    postgresql_execute: {
      description: 'Runs one SQL statement of any kind, in a transaction.',
      arguments: { query, params },
      idempotent: false,
      run: (call) => runQuery(call, { readOnly: false, idempotent: false }),
    },
    postgresql_introspect: {
      description: 'Returns the tables of a schema with their columns.',
      arguments: { schema: text('Name of the schema; default: public') },
      idempotent: true,
      run: (call) => {
        const { schema = 'public' } = call.args;
        return run(call, { sql: LIST_TABLES, values: [schema], readOnly: true, idempotent: true });
      },
    },
  },
});

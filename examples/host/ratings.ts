// An area of a host (a module of API operations with its own tables). It has one operation and one table, and is served
// by `createApi({ areas: [execute(), ratings()], database: … })`.
import type { Area } from '@heddle/api';
import {
  AUTHENTICATED_PRINCIPALS,
  noQuery,
  operationFactory,
  workflow,
  workflowPath,
} from '@heddle/api/areas';
import type { Kysely } from 'kysely';
import * as z from 'zod';

interface Ratings {
  db: Kysely<{ ratings: { workflow_id: string; person: string; stars: number } }>;
}

const rateWorkflow = operationFactory<Ratings>()({
  id: 'rateWorkflow',
  method: 'PUT',
  path: '/api/v2/workflows/{workflowId}/rating',
  tag: 'Ratings',
  summary: 'Rate a workflow',
  principals: AUTHENTICATED_PRINCIPALS,
  scope: 'api:write',
  role: 'read',
  resource: workflow,
  audit: { resourceType: 'workflow', actions: ['WORKFLOW_RATED'] },
  params: workflowPath,
  query: noQuery,
  body: z.strictObject({ stars: z.int().min(1).max(5) }),
  success: [{ status: 200, schema: z.object({ stars: z.int() }), description: 'The rating' }],
  errors: [400, 401, 403, 404, 413, 415, 429],
  async handle({ db }, { principal, body: { stars }, recordAudit }, { id }) {
    const row = { workflow_id: id, person: principal.credentialId, stars };
    await db.transaction().execute(async (tx) => {
      const key = ['workflow_id', 'person'] as const;
      await tx
        .insertInto('ratings')
        .values(row)
        .onConflict((conflict) => conflict.columns(key).doUpdateSet({ stars }))
        .execute();
      await recordAudit({ resourceId: id, details: { stars } }, tx);
    });
    return { data: { stars } };
  },
});

/** Returns the ratings area. */
export function ratings(): Area<Ratings, { rateWorkflow: typeof rateWorkflow }> {
  return {
    name: 'ratings',
    operations: { rateWorkflow },
    migrations: {
      '0001': {
        up: (db: Kysely<unknown>) =>
          db.schema
            .createTable('ratings')
            .addColumn('workflow_id', 'text', (column) => column.notNull())
            .addColumn('person', 'text', (column) => column.notNull())
            .addColumn('stars', 'integer', (column) => column.notNull())
            .addPrimaryKeyConstraint('ratings_key', ['workflow_id', 'person'])
            .execute(),
      },
    },
    services: ({ database }) => ({ db: database as Ratings['db'] }),
  };
}

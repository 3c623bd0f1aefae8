import { cursorCodec, AUTHENTICATED_PRINCIPALS, operationFactory } from '@heddle/api/areas';
import { afterCondition, pageOf } from '../../paging.ts';
import { triggerResource } from '../operations.ts';
import type { TriggerServices } from '../operations.ts';
import * as schemas from '../schemas.ts';
import { eventView, selectEvents } from './views.ts';

const defineOperation = operationFactory<TriggerServices>();
const positionCodec = cursorCodec(schemas.eventPosition);

export const listTriggerEvents = defineOperation({
  ...{ tag: 'Triggers', scope: 'api:read', role: 'read', principals: AUTHENTICATED_PRINCIPALS },
  id: 'listTriggerEvents',
  method: 'GET',
  path: '/api/v2/triggers/{triggerId}/events',
  summary: 'List the events of a trigger with the decisions of its flow control, newest first',
  resource: triggerResource,
  params: schemas.triggerPath,
  query: schemas.eventsQuery,
  success: [{ status: 200, schema: schemas.eventItem, isPage: true, description: 'A page of events' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ db }, { query }, row) {
    const { limit } = query;
    const filters = { trigger: row.id };
    const afterPosition = positionCodec.decode(query.cursor, filters);
    const fetchedRows = await selectEvents(db as never)
      .where('flow_events.workflow_id', '=', row.workflow_id)
      .where('flow_events.block_id', '=', row.block_id)
      .$if(afterPosition !== undefined, (builder) =>
        builder.where(
          afterCondition(['flow_events.received_ms', 'flow_events.id'], afterPosition ?? [], 'desc'),
        ),
      )
      .orderBy('flow_events.received_ms', 'desc')
      .orderBy('flow_events.id', 'desc')
      .limit(limit + 1)
      .execute();
    const { rows, next } = pageOf(fetchedRows, limit, (eventRow): [number, string] => [
      Number(eventRow.received_ms),
      eventRow.id,
    ]);
    return { page: rows.map(eventView), nextCursor: next ? positionCodec.encode(next, filters) : null };
  },
});

import type { Principal } from '../auth/principal.ts';
import type { AreaContext } from '../context.ts';
import { refusalOf } from '../errors.ts';
import type { AnyOperation, Call, RecordedAction } from '../operation.ts';
import type { AuditEvent } from '../ports.ts';

type Recording = Pick<Call<never, never, never>, 'record' | 'recordAround'>;

/** Returns functions that record the audit actions of the operation. */
export function recorder(
  { audit }: AreaContext,
  { id, audit: declared }: AnyOperation,
  { principal, workspaceId }: { principal: Principal; workspaceId: string | undefined },
): Recording {
  function eventOf(recorded: RecordedAction): AuditEvent {
    const { action = declared?.actions[0] ?? '', resourceId, details } = recorded;
    if (!declared?.actions.includes(action))
      throw new TypeError(`The operation ${id} does not declare the audit action "${action}".`);
    return {
      ...{ action, resourceId, details, principal },
      workspaceId: recorded.workspaceId ?? workspaceId,
      resourceType: recorded.resourceType ?? declared.resourceType,
    };
  }
  return {
    record: async (recorded, transaction) => audit.record(eventOf(recorded), transaction),
    async recordAround(recorded, action, hasHappened = () => true) {
      const event = eventOf(recorded);
      const intent = await audit.prepare?.(event);
      const result = await action().catch(async (error: unknown) => {
        // After an internal error it is unknown whether the action happened: the event stays, marked as intended.
        if ((refusalOf(error)?.status ?? 500) < 500) await intent?.abort();
        throw error;
      });
      if (!hasHappened(result)) await intent?.abort();
      else if (intent) await intent.confirm();
      else await audit.record(event);
      return result;
    },
  };
}

import type { Principal } from '../auth/principal.ts';
import type { AreaContext } from '../context.ts';
import { refusalOf } from '../errors.ts';
import type { AnyOperation, Call, Recorded } from '../operation.ts';
import type { AuditEvent } from '../ports.ts';

type Recording = Pick<Call<never, never, never>, 'record' | 'recordAround'>;

/** Returns functions that record the audit actions of the operation. */
export function recorder(
  { audit }: AreaContext,
  { id, audit: declared }: AnyOperation,
  { principal, workspaceId }: { principal: Principal; workspaceId: string | undefined },
): Recording {
  function eventOf(recorded: Recorded): AuditEvent {
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
    async recordAround(recorded, act, happened = () => true) {
      const event = eventOf(recorded);
      const intended = await audit.intend?.(event);
      const result = await act().catch(async (error: unknown) => {
        // After an internal error it is unknown whether the action happened: the event stays, marked as intended.
        if ((refusalOf(error)?.status ?? 500) < 500) await intended?.withdraw();
        throw error;
      });
      if (!happened(result)) await intended?.withdraw();
      else if (intended) await intended.confirm();
      else await audit.record(event);
      return result;
    },
  };
}

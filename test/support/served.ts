import { ALL_OPERATIONS } from '../../packages/api/src/table.ts';
import type { AnyOperation } from '../../packages/api/src/operation.ts';
import { logOperations } from '../../packages/service/src/logs/operations.ts';
import { sandboxOperations } from '../../packages/service/src/sandboxes/operations.ts';
import { secretOperations } from '../../packages/service/src/secrets/operations.ts';
import { transferOperations } from '../../packages/service/src/transfer/operations.ts';
import { workflowOperations } from '../../packages/service/src/workflows/operations.ts';

const WORKFLOWS = workflowOperations({} as never);

/** Every operation that `heddle serve` has. Their handlers cannot be called. */
export const SERVED: readonly AnyOperation[] = [
  // An operation of the service replaces that of the API with its id.
  ...ALL_OPERATIONS.filter(({ id }) => WORKFLOWS.every((other) => other.id !== id)),
  ...logOperations({} as never, {} as never),
  ...sandboxOperations({} as never),
  ...secretOperations({ store: {} } as never),
  ...transferOperations({ store: {} } as never),
  ...WORKFLOWS,
];

import { ALL_OPERATIONS } from '../../packages/api/src/table.ts';
import type { AnyOperation } from '../../packages/api/src/operation.ts';
import { logOperations } from '../../packages/service/src/logs/operations.ts';
import { secretOperations } from '../../packages/service/src/secrets/operations.ts';

/** Every operation that `heddle serve` has. Their handlers cannot be called. */
export const SERVED: readonly AnyOperation[] = [
  ...ALL_OPERATIONS,
  ...logOperations({} as never, {} as never),
  ...secretOperations({ store: {} } as never),
];

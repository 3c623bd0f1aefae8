import { apiExecutor } from './api/api.ts';
import { webhookExecutor } from './api/webhook.ts';
import { childExecutor } from './child.ts';
import { conditionExecutor } from './condition.ts';
import { functionExecutor } from './function.ts';
import { humanExecutor } from './human.ts';
import { responseExecutor } from './response.ts';
import type { EngineExecutor } from './services.ts';
import { variablesExecutor } from './variables.ts';
import { waitExecutor } from './wait.ts';

/** The executors of every engine. Start blocks and containers need none: see `startOutput` and `expandContainer`. */
export const builtInExecutors: readonly EngineExecutor[] = [
  functionExecutor,
  conditionExecutor,
  variablesExecutor,
  responseExecutor,
  waitExecutor,
  humanExecutor,
  childExecutor,
  apiExecutor,
  webhookExecutor,
];

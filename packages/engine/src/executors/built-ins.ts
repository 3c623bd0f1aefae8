import { apiExecutor } from './api/api.ts';
import { childExecutor } from './child.ts';
import { conditionExecutor } from './condition.ts';
import { functionExecutor } from './function.ts';
import { humanExecutor } from './human.ts';
import { responseExecutor } from './response.ts';
import type { EngineExecutor } from './services.ts';
import { variablesExecutor } from './variables.ts';
import { waitExecutor } from './wait.ts';

/** The executors that every engine has. Start blocks need none (`startOutput`), containers neither (`expandContainer`). */
export const builtInExecutors: readonly EngineExecutor[] = [
  functionExecutor,
  conditionExecutor,
  variablesExecutor,
  responseExecutor,
  waitExecutor,
  humanExecutor,
  childExecutor,
  apiExecutor,
];

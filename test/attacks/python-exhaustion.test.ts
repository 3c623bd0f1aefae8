import { pythonExhaustion } from './python/exhaustion.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonExhaustion, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

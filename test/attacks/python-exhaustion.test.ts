import { pythonExhaustion } from './python/exhaustion.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonExhaustion, { sandbox: { python: { maxProcesses: 1 } } });

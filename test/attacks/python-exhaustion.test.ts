import { pythonExhaustionAttacks } from './python/exhaustion.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonExhaustionAttacks, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

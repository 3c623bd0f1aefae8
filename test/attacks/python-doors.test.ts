import { pythonDoors } from './python/interpreter-escapes.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonDoors, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

import { pythonDoors } from './python/doors.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonDoors, { share: 1 / 2, sandbox: { python: { maxProcesses: 1 } } });

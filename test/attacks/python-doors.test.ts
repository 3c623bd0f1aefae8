import { pythonDoors } from './python/doors.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonDoors, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

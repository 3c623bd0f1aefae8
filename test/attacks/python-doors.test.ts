import { pythonDoors } from './python/doors.ts';
import { testAttacks } from './suite.ts';

testAttacks(pythonDoors, { sandbox: { python: { maxProcesses: 1 } } });

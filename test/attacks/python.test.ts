import { dose } from '../support/dose.ts';
import { levels } from './levels.ts';
import { pythonBridge } from './python/bridge.ts';
import { pythonExhaustion } from './python/exhaustion.ts';
import { pythonHost } from './python/host.ts';
import { pythonLeaks } from './python/leaks.ts';
import { sampleOf, testAttacks } from './suite.ts';

const sandbox = { python: { maxProcesses: 1 } };

testAttacks(pythonHost, { sandbox });
// An interpreter for each attack takes its time, and what these try ends before the operating system is asked.
for (const group of [pythonExhaustion, pythonLeaks, pythonBridge]) {
  testAttacks(group, { sandbox, at: levels.slice(0, 1) });
  testAttacks(sampleOf(group, dose(4, 1)), { sandbox, at: levels.slice(1) });
}

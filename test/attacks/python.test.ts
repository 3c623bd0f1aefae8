import { pythonBridge } from './python/bridge.ts';
import { pythonExhaustion } from './python/exhaustion.ts';
import { pythonHost } from './python/host.ts';
import { pythonLeaks } from './python/leaks.ts';
import { testAttacks } from './suite.ts';

const options = { sandbox: { python: { maxProcesses: 1 } } };

for (const group of [pythonHost, pythonExhaustion, pythonLeaks, pythonBridge]) testAttacks(group, options);

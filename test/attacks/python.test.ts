import { pythonBridge } from './python/bridge.ts';
import { pythonHost } from './python/host.ts';
import { pythonLeaks } from './python/leaks.ts';
import { testAttacks } from './suite.ts';

for (const group of [pythonHost, pythonLeaks, pythonBridge])
  testAttacks(group, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

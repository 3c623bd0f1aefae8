import { pythonBridgeAttacks } from './python/bridge.ts';
import { pythonHostAttacks } from './python/host.ts';
import { pythonLeakAttacks } from './python/leaks.ts';
import { testAttacks } from './suite.ts';

for (const group of [pythonHostAttacks, pythonLeakAttacks, pythonBridgeAttacks])
  testAttacks(group, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });

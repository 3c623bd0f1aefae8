import type { AttackGroup } from './attack.ts';
import { bridgeAttacks } from './javascript/bridge.ts';
import { egressAttacks } from './javascript/egress.ts';
import { floodAttacks } from './javascript/floods.ts';
import { builtinAttacks } from './javascript/builtins.ts';
import { hostAttacks } from './javascript/host.ts';
import { leakAttacks } from './javascript/leaks.ts';
import { memoryAttacks } from './javascript/memory.ts';
import { nameAttacks } from './javascript/names.ts';
import { packageAttacks } from './javascript/packages.ts';
import { pollutionAttacks } from './javascript/pollution.ts';
import { serverAttacks } from './javascript/servers.ts';
import { timeAttacks } from './javascript/time.ts';
import { pythonBridgeAttacks } from './python/bridge.ts';
import { interpreterEscapes } from './python/interpreter-escapes.ts';
import { pythonExhaustionAttacks } from './python/exhaustion.ts';
import { pythonHostAttacks } from './python/host.ts';
import { pythonLeakAttacks } from './python/leaks.ts';
import { pythonPackageAttacks } from './python/packages.ts';

/** The groups by their files, in the order of docs/sandbox-attacks.md. */
export const GROUPS: Readonly<Record<string, AttackGroup>> = {
  'javascript/host.ts': hostAttacks,
  'javascript/pollution.ts': pollutionAttacks,
  'javascript/bridge.ts': bridgeAttacks,
  'javascript/time.ts': timeAttacks,
  'javascript/memory.ts': memoryAttacks,
  'javascript/floods.ts': floodAttacks,
  'javascript/builtins.ts': builtinAttacks,
  'javascript/egress.ts': egressAttacks,
  'javascript/servers.ts': serverAttacks,
  'javascript/names.ts': nameAttacks,
  'javascript/leaks.ts': leakAttacks,
  'javascript/packages.ts': packageAttacks,
  'python/host.ts': pythonHostAttacks,
  'python/interpreter-escapes.ts': interpreterEscapes,
  'python/exhaustion.ts': pythonExhaustionAttacks,
  'python/leaks.ts': pythonLeakAttacks,
  'python/bridge.ts': pythonBridgeAttacks,
  'python/packages.ts': pythonPackageAttacks,
};

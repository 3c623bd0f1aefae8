import type { AttackGroup } from './attack.ts';
import * as bridge from './javascript/bridge.ts';
import * as egress from './javascript/egress.ts';
import * as floods from './javascript/floods.ts';
import * as builtins from './javascript/builtins.ts';
import * as host from './javascript/host.ts';
import * as leaks from './javascript/leaks.ts';
import * as memory from './javascript/memory.ts';
import * as names from './javascript/names.ts';
import * as packages from './javascript/packages.ts';
import * as pollution from './javascript/pollution.ts';
import * as servers from './javascript/servers.ts';
import * as time from './javascript/time.ts';
import * as pythonBridge from './python/bridge.ts';
import * as interpreterEscapes from './python/interpreter-escapes.ts';
import * as pythonExhaustion from './python/exhaustion.ts';
import * as pythonHost from './python/host.ts';
import * as pythonLeaks from './python/leaks.ts';
import * as pythonPackages from './python/packages.ts';

/** The groups by their files, in the order of docs/sandbox-attacks.md. */
export const GROUPS: Readonly<Record<string, AttackGroup>> = {
  'javascript/host.ts': host.host,
  'javascript/pollution.ts': pollution.pollution,
  'javascript/bridge.ts': bridge.bridge,
  'javascript/time.ts': time.time,
  'javascript/memory.ts': memory.memory,
  'javascript/floods.ts': floods.floods,
  'javascript/builtins.ts': builtins.builtins,
  'javascript/egress.ts': egress.egress,
  'javascript/servers.ts': servers.servers,
  'javascript/names.ts': names.names,
  'javascript/leaks.ts': leaks.leaks,
  'javascript/packages.ts': packages.packages,
  'python/host.ts': pythonHost.pythonHost,
  'python/interpreter-escapes.ts': interpreterEscapes.interpreterEscapes,
  'python/exhaustion.ts': pythonExhaustion.pythonExhaustion,
  'python/leaks.ts': pythonLeaks.pythonLeaks,
  'python/bridge.ts': pythonBridge.pythonBridge,
  'python/packages.ts': pythonPackages.pythonPackages,
};

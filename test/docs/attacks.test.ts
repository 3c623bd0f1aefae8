import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AttackGroup } from '../attacks/attack.ts';
import * as bridge from '../attacks/javascript/bridge.ts';
import * as egress from '../attacks/javascript/egress.ts';
import * as floods from '../attacks/javascript/floods.ts';
import * as host from '../attacks/javascript/host.ts';
import * as leaks from '../attacks/javascript/leaks.ts';
import * as memory from '../attacks/javascript/memory.ts';
import * as names from '../attacks/javascript/names.ts';
import * as packages from '../attacks/javascript/packages.ts';
import * as pollution from '../attacks/javascript/pollution.ts';
import * as servers from '../attacks/javascript/servers.ts';
import * as time from '../attacks/javascript/time.ts';
import * as pythonBridge from '../attacks/python/bridge.ts';
import * as pythonExhaustion from '../attacks/python/exhaustion.ts';
import * as pythonHost from '../attacks/python/host.ts';
import * as pythonLeaks from '../attacks/python/leaks.ts';
import * as pythonPackages from '../attacks/python/packages.ts';
import { readPage, repository } from './markdown.ts';

/** The groups in the order of the page, by the file that holds each. */
const GROUPS: Readonly<Record<string, AttackGroup>> = {
  'javascript/host.ts': host.host,
  'javascript/pollution.ts': pollution.pollution,
  'javascript/bridge.ts': bridge.bridge,
  'javascript/time.ts': time.time,
  'javascript/memory.ts': memory.memory,
  'javascript/floods.ts': floods.floods,
  'javascript/egress.ts': egress.egress,
  'javascript/servers.ts': servers.servers,
  'javascript/names.ts': names.names,
  'javascript/leaks.ts': leaks.leaks,
  'javascript/packages.ts': packages.packages,
  'python/host.ts': pythonHost.pythonHost,
  'python/exhaustion.ts': pythonExhaustion.pythonExhaustion,
  'python/leaks.ts': pythonLeaks.pythonLeaks,
  'python/bridge.ts': pythonBridge.pythonBridge,
  'python/packages.ts': pythonPackages.pythonPackages,
};

const page = readPage('docs/sandbox-attacks.md');
const inFolder = (pattern: string): string[] =>
  globSync(pattern, { cwd: `${repository}test/attacks` }).map((file) => file.replaceAll('\\', '/'));

describe('docs/sandbox-attacks.md', () => {
  it('has each group with its file and its number of attacks', () => {
    const rows = [
      ...page.matchAll(/^\| \[(.+?)\]\(\.\.\/test\/attacks\/((?:javascript|python)\/.+?)\) \| (\d+) \|/gm),
    ];
    expect(rows.map(([, name, file, count]) => [name, file, Number(count)])).toEqual(
      Object.entries(GROUPS).map(([file, { name, attacks }]) => [name, file, attacks.length]),
    );
    expect(inFolder('*/*.ts').sort()).toEqual(Object.keys(GROUPS).sort());
  });

  it('has every other test of attacks', () => {
    const listed = [...page.matchAll(/^\| \[(\w+\.test\.ts)\]/gm)].map(([, file]) => file);
    const tables = ['bridge', 'egress', 'exhaustion', 'host', 'leaks', 'python', 'time'].map(
      (name) => `${name}.test.ts`,
    );
    expect(listed).toEqual(
      inFolder('*.test.ts')
        .filter((file) => !tables.includes(file))
        .sort(),
    );
  });

  it('tells of attacks that have ids and titles of their own', () => {
    const attacks = Object.values(GROUPS).flatMap((group) => group.attacks);
    expect(new Set(attacks.map(({ id }) => id)).size).toBe(attacks.length);
    for (const { name, attacks: own } of Object.values(GROUPS))
      expect(new Set(own.map(({ title }) => title)).size, name).toBe(own.length);
  });
});

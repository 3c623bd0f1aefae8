import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { encodeWheel, formatWheelFilename } from '../../../../../test/support/python/wheel.ts';
import type { BuildContext } from '../../builder.ts';
import { digestOf } from '../../python/sources/wheelhouse.ts';
import { installWheels } from './wheels.ts';

/** Installs a wheel with these entry points. Returns the root file system. */
async function installDemoWheel(entryPoints: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'wheels-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const wheel = {
    name: 'demo',
    files: { 'demo.py': '', 'demo-1.0.dist-info/entry_points.txt': entryPoints },
  };
  const filename = formatWheelFilename(wheel);
  writeFileSync(join(folder, filename), encodeWheel(wheel));
  const context = {
    signal: new AbortController().signal,
    reportProgress: () => undefined,
    registries: { python: { wheelhouse: folder } },
  } as unknown as BuildContext;
  const lockedWheel = {
    ...{ name: 'demo', version: '1.0', filename, location: filename, source: 'wheelhouse' as const },
    digest: await digestOf(join(folder, filename)),
    requires: [],
  };
  const root = join(folder, 'root');
  await installWheels([lockedWheel], { root, site: 'site', programs: 'bin' }, context);
  return root;
}

it('every console script of a wheel becomes a program, also after one with extras', async () => {
  const root = await installDemoWheel(
    '[gui_scripts]\nwindow = demo:window\n\n[console_scripts]\nfirst = demo:run [extra]\r\nsecond = demo.cli:Cli.run\n[other]\nthird = demo:third\n',
  );
  expect(readFileSync(join(root, 'bin/second'), 'utf8')).toContain(
    'from demo.cli import Cli\nsys.exit(Cli.run())',
  );
  expect(['first', 'window', 'third'].map((name) => existsSync(join(root, 'bin', name)))).toEqual([
    true,
    false,
    false,
  ]);
});

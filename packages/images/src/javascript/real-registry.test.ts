import { homedir } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox } from '@heddle/sandbox';
import { openImages } from '../../../../test/support/images.ts';
import { javascriptBuilder } from './builder.ts';
import { findNpm, readNpmSettings } from './npm-settings.ts';

const npmSettings = readNpmSettings({ env: process.env, cwd: process.cwd(), home: homedir() });
const registry = npmSettings['registry'] ?? 'https://registry.npmjs.org/';

/** Returns why npm's configured registry cannot be used, or undefined. */
async function findUnreachableReason(): Promise<string | undefined> {
  try {
    const { status } = await fetch(new URL('zod', registry), {
      method: 'HEAD',
      signal: AbortSignal.timeout(10_000),
    });
    return status === 200 ? undefined : `${registry} responds with ${status}`;
  } catch (error) {
    return `${registry} cannot be reached: ${(error as Error).message}`;
  }
}

const skipReason = await findUnreachableReason();

describe.skipIf(skipReason !== undefined)(
  `images of the packages of ${registry}${skipReason === undefined ? '' : ` (skipped: ${skipReason})`}`,
  () => {
    it('contain lodash, dayjs and zod in a snapshot', async () => {
      const images = openImages(
        { javascript: javascriptBuilder({ npm: findNpm(process.env['PATH']) }) },
        { registries: { npm: npmSettings } },
      );
      const spec = { language: 'javascript', dependencies: ['lodash@^4', 'dayjs@^1', 'zod@^4'] };
      const record = await images.build(spec, { name: 'tools' });
      expect(record).toMatchObject({ state: 'ready', warnings: [], errorMessage: null });
      expect((await images.open('tools')).features.snapshot).toBe(true);
      const sandbox = createSandbox({ images, maxProcesses: 1 });
      onTestFinished(() => sandbox.close());
      const code = `
      import _ from 'lodash';
      import dayjs from 'dayjs';
      import utc from 'dayjs/plugin/utc';
      import { z } from 'zod';
      const now = Date.now();
      dayjs.extend(utc);
      const schema = z.object({ name: z.string(), at: z.iso.datetime() });
      return [
        _.chunk([1, 2, 3], 2), _.debounce.length, dayjs.utc(0).format('YYYY-MM-DD'),
        Math.abs(dayjs().valueOf() - now) < 10000,
        schema.safeParse({ name: 'x', at: '2020-01-01T00:00:00Z' }).success, schema.safeParse({}).error.issues.length,
      ];`;
      expect(await sandbox.run({ runId: 'run', code, image: 'tools' })).toMatchObject({
        ok: true,
        json: '[[[1,2],[3]],3,"1970-01-01",true,true,2]',
      });
    });
  },
);

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { readEnv } from '../env.ts';
import { readEnvValues } from './env-values.ts';

const shellEnv = readEnv({ TOKEN: 'from the shell', EMPTY: '' });

describe('environment values', () => {
  it('are NAME=VALUE, with everything after the first = as the value', async () => {
    expect(
      await readEnvValues({ env: ['A=1', 'URL=https://x?a=b', 'NONE='], envFile: [] }, shellEnv),
    ).toEqual({
      A: '1',
      URL: 'https://x?a=b',
      NONE: '',
    });
  });

  it('come from the shell if only the name is given, so that they stay out of the shell history', async () => {
    expect(await readEnvValues({ env: ['TOKEN', 'EMPTY'], envFile: [] }, shellEnv)).toEqual({
      TOKEN: 'from the shell',
      EMPTY: '',
    });
  });

  it('are rejected with a hint if the shell does not have them', async () => {
    await expect(readEnvValues({ env: ['MISSING'], envFile: [] }, shellEnv)).rejects.toThrow(
      /MISSING is not set/,
    );
    await expect(readEnvValues({ env: ['toString'], envFile: [] }, shellEnv)).rejects.toThrow(
      /toString is not set/,
    );
    await expect(readEnvValues({ env: ['=x'], envFile: [] }, shellEnv)).rejects.toThrow(/has no name/);
  });

  it('come from dotenv files; later files and single values take precedence', async () => {
    const folder = createDataFolder();
    const [first, second] = [join(folder, 'a.env'), join(folder, 'b.env')] as const;
    writeFileSync(first, '# comment\nA=1\nB="two words"\nexport C=\'3\'\n');
    writeFileSync(second, 'B=2\n');
    expect(await readEnvValues({ env: ['C=c'], envFile: [first, second] }, shellEnv)).toEqual({
      A: '1',
      B: '2',
      C: 'c',
    });
  });

  it('of a missing file are rejected', async () => {
    await expect(readEnvValues({ env: [], envFile: ['nowhere.env'] }, shellEnv)).rejects.toThrow(
      'There is no file nowhere.env.',
    );
  });
});

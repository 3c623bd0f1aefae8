import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEngine } from './create.ts';
import { requireIsolation } from './isolation.ts';

const bubblewrap = '/nowhere/bwrap';

describe('requireIsolation', () => {
  it('rejects the start with the reason, before anything is opened, if the host provides only a lower level', async () => {
    const data = mkdtempSync(join(tmpdir(), 'heddle-isolation-'));
    try {
      const starting = createEngine({ data, sandbox: { isolation: { minimum: 'strict', bubblewrap } } });
      await expect(starting).rejects.toMatchObject({
        code: 'ISOLATION_TOO_LOW',
        message: expect.stringMatching(
          /^This host confines code at the level \w+, and strict is the minimum\. .+\.$/,
        ),
      });
      expect(readdirSync(data)).toEqual([]);
    } finally {
      rmSync(data, { recursive: true, force: true });
    }
  });

  it('treats a level as a minimum', async () => {
    const options = { sandbox: { isolation: { level: 'strict', bubblewrap } } } as const;
    await expect(requireIsolation(options)).rejects.toMatchObject({ code: 'ISOLATION_TOO_LOW' });
  });

  it('accepts a level that the host provides', async () => {
    const engine = await createEngine({ sandbox: { isolation: { minimum: 'basic' } } });
    await expect(engine.close()).resolves.toBeUndefined();
  });

  it('rejects contradictory options', async () => {
    const options = { sandbox: { isolation: { level: 'basic', minimum: 'strict' } } } as const;
    await expect(createEngine(options)).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('isolation.minimum "strict"'),
    });
  });

  it('accepts every host if the minimum is absent, or the lowest level of the platform', async () => {
    const level = process.platform === 'linux' ? 'standard' : 'basic';
    await expect(requireIsolation({ sandbox: { isolation: { minimum: level } } })).resolves.toBeUndefined();
    await expect(requireIsolation({ sandbox: { isolation: {} } })).resolves.toBeUndefined();
    await expect(requireIsolation({})).resolves.toBeUndefined();
  });
});

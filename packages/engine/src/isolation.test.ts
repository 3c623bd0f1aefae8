import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEngine } from './create.ts';
import { requireIsolation } from './isolation.ts';

const bubblewrap = '/nowhere/bwrap';

describe('the isolation that an engine asks for', () => {
  it('stops it at the start, with the reason and before anything is opened, where the host reaches less', async () => {
    const data = mkdtempSync(join(tmpdir(), 'heddle-isolation-'));
    try {
      const starting = createEngine({ data, sandbox: { isolation: { minimum: 'strict', bubblewrap } } });
      await expect(starting).rejects.toMatchObject({
        code: 'ISOLATION_TOO_LOW',
        message: expect.stringMatching(
          /^Code is confined at the level \w+ here, and strict is the minimum\. .+\.$/,
        ),
      });
      expect(readdirSync(data)).toEqual([]);
    } finally {
      rmSync(data, { recursive: true, force: true });
    }
  });

  it('is a level as well as a minimum', async () => {
    const asked = { sandbox: { isolation: { level: 'strict', bubblewrap } } } as const;
    await expect(requireIsolation(asked)).rejects.toMatchObject({ code: 'ISOLATION_TOO_LOW' });
  });

  it('is met by what the host reaches', async () => {
    const engine = await createEngine({ sandbox: { isolation: { minimum: 'basic' } } });
    await expect(engine.close()).resolves.toBeUndefined();
  });

  it('is not understood where it contradicts itself', async () => {
    const asked = { sandbox: { isolation: { level: 'basic', minimum: 'strict' } } } as const;
    await expect(createEngine(asked)).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('isolation.minimum "strict"'),
    });
  });

  it('is what every host has, unless more is asked for', async () => {
    const level = process.platform === 'linux' ? 'standard' : 'basic';
    await expect(requireIsolation({ sandbox: { isolation: { minimum: level } } })).resolves.toBeUndefined();
    await expect(requireIsolation({ sandbox: { isolation: {} } })).resolves.toBeUndefined();
    await expect(requireIsolation({})).resolves.toBeUndefined();
  });
});

import { expect, it } from 'vitest';
import { testApi } from '../../../../test/support/api.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';

const DAY_MS = 24 * 3_600_000;
const FILE = { version: '1.0', workflow: { name: 'Imported' }, state: { blocks: {}, edges: [] } };

it('a receipt is deleted 30 days after its import; then its request id is free again', async () => {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const beats: (() => void)[] = [];
  const { call, workspaceId } = await testApi({
    engineOptions: { clock },
    now: () => clock.now(),
    every: (ms, beat) => {
      if (ms === 600_000) beats.push(beat);
      return () => undefined;
    },
  });
  const file = { workspaceId, workflow: FILE };
  async function imported(requestId: string): Promise<string> {
    const path = '/api/v2/workflows/import';
    const preview = await call<{ previewFingerprint: string }>('POST', `${path}/preview`, { body: file });
    const { previewFingerprint } = preview.data;
    const body = { ...file, requestId, previewFingerprint };
    return (await call<{ operationId: string }>('POST', path, { body })).data.operationId;
  }
  async function statusOf(id: string): Promise<number> {
    for (const beat of beats) beat();
    return (await call('GET', `/api/v2/workspaces/${workspaceId}/operations/${id}`)).status;
  }

  const old = await imported('first');
  expect(await imported('first')).toBe(old);
  clock.advance(20 * DAY_MS);
  expect(await statusOf(old)).toBe(200);
  const young = await imported('second');
  clock.advance(11 * DAY_MS);
  await expect.poll(() => statusOf(old)).toBe(404);
  expect(await statusOf(young)).toBe(200);
  const again = await imported('first');
  expect(again).not.toBe(old);
  expect(await statusOf(again)).toBe(200);
});

import { expect, it } from 'vitest';
import { createTestApi } from '../../../../test/support/api.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';

const DAY_MS = 24 * 3_600_000;
const FILE = { version: '1.0', workflow: { name: 'Imported' }, state: { blocks: {}, edges: [] } };

it('a receipt is deleted 30 days after its import; then its request id can be used again', async () => {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const timerCallbacks: (() => void)[] = [];
  const { call, workspaceId } = await createTestApi({
    engineOptions: { clock },
    now: () => clock.now(),
    repeat: (ms, callback) => {
      if (ms === 600_000) timerCallbacks.push(callback);
      return () => undefined;
    },
  });
  const importRequest = { workspaceId, workflow: FILE };
  async function importFile(requestId: string): Promise<string> {
    const path = '/api/v2/workflows/import';
    const preview = await call<{ previewFingerprint: string }>('POST', `${path}/preview`, {
      body: importRequest,
    });
    const { previewFingerprint } = preview.data;
    const body = { ...importRequest, requestId, previewFingerprint };
    return (await call<{ operationId: string }>('POST', path, { body })).data.operationId;
  }
  async function sweepAndReadStatus(id: string): Promise<number> {
    for (const callback of timerCallbacks) callback();
    return (await call('GET', `/api/v2/workspaces/${workspaceId}/operations/${id}`)).status;
  }

  const oldId = await importFile('first');
  expect(await importFile('first')).toBe(oldId);
  clock.advance(20 * DAY_MS);
  expect(await sweepAndReadStatus(oldId)).toBe(200);
  const newerId = await importFile('second');
  clock.advance(11 * DAY_MS);
  await expect.poll(() => sweepAndReadStatus(oldId)).toBe(404);
  expect(await sweepAndReadStatus(newerId)).toBe(200);
  const repeatedId = await importFile('first');
  expect(repeatedId).not.toBe(oldId);
  expect(await sweepAndReadStatus(repeatedId)).toBe(200);
});

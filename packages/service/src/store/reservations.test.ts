import { memoryReservations } from '@heddle/api/ports';
import type { NewReservation, Reservations } from '@heddle/api/ports';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openServiceStore } from './open.ts';

const OPENERS: { [name: string]: () => Promise<Reservations> } = {
  'in memory': () => Promise.resolve(memoryReservations()),
  'in the database': async () => {
    const store = await openServiceStore();
    onTestFinished(() => store.close());
    return store.reservations;
  },
};

function newReservation(overrides: Partial<NewReservation> = {}): NewReservation {
  return {
    ...{ engineRunId: 'e1', runId: 'mine', workflowId: 'w', workspaceId: 'looms' },
    ...{ trigger: 'api', mode: 'sync', createdAt: '2026-01-01T00:00:00.000Z' },
    ...overrides,
  };
}

describe.each(Object.entries(OPENERS))('reservations %s', (_name, open) => {
  it('accept a run id once per workspace', async () => {
    const reservations = await open();
    expect(await reservations.reserve(newReservation())).toBe(true);
    expect(await reservations.reserve(newReservation({ engineRunId: 'e2' }))).toBe(false);
    expect(await reservations.reserve(newReservation({ engineRunId: 'e3', workspaceId: 'dyers' }))).toBe(
      true,
    );
    expect(await reservations.findByRunId('mine', ['looms'])).toMatchObject([
      { engineRunId: 'e1', isQueued: false },
    ]);
    expect(await reservations.findByRunId('mine', ['looms', 'dyers'])).toHaveLength(2);
    expect(await reservations.findByRunId('mine', [])).toEqual([]);
    expect(await reservations.findByRunId('other', ['looms'])).toEqual([]);
  });

  it('release the id of a run that was never created', async () => {
    const reservations = await open();
    await reservations.reserve(newReservation());
    await reservations.release('e1');
    await reservations.release('unknown');
    expect(await reservations.findByEngineRunIds(['e1'])).toEqual(new Map());
    expect(await reservations.reserve(newReservation({ engineRunId: 'e2' }))).toBe(true);
  });

  it('keep the id of a run that was not started, with the reason', async () => {
    const reservations = await open();
    await reservations.reserve(newReservation());
    const failure = { reason: 'INVALID_INPUT', message: 'It does not fit.' } as const;
    await reservations.fail('e1', failure);
    expect((await reservations.findByEngineRunIds(['e1', 'unknown'])).get('e1')).toEqual({
      ...newReservation(),
      isQueued: false,
      failure,
    });
    expect(await reservations.reserve(newReservation({ engineRunId: 'e2' }))).toBe(false);
  });
});

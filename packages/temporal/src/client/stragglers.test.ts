import { EngineError } from '@heddle/core';
import { createHost, RemoteRuns } from '@heddle/engine/runtime';
import type { RunRequest } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import { expect, it, onTestFinished, vi } from 'vitest';
import { compiled } from '../../../../test/support/compiled.ts';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { fn } from '../../../../test/support/workflow.ts';
import type { RunInput } from '../messages.ts';
import { profileOf } from '../options.ts';
import { Stragglers } from './stragglers.ts';

const plan = compiled([fn('A', 'return 1')], ['Start -> A']);
const request: RunRequest = {
  runId: 'run-1',
  plan,
  version: undefined,
  input: {},
  start: plan.start,
  mocks: null,
};

function scene() {
  const clock = new TestClock();
  const stores = openStores({ data: dataFolder(), shared: true, clock });
  const onError = vi.fn<(error: unknown) => void>();
  const host = createHost(stores, { clock, onError });
  onTestFinished(async () => {
    await host.close();
    stores.close();
  });
  const start = vi.fn<(input: RunInput) => Promise<void>>(async () => undefined);
  const runs = new RemoteRuns(host.parts);
  const stragglers = new Stragglers({ runtime: host.parts, launcher: { start }, profile: profileOf({}) });
  const started = (): string[] => start.mock.calls.map(([{ runId }]) => runId);
  return { clock, runs, start, started, stragglers, onError };
}

it('a run whose recorder has died is started once its time to start it is over', async () => {
  const { clock, runs, stragglers, started } = scene();
  await runs.record(request);
  await stragglers.look();
  expect(started()).toEqual([]);
  clock.advance(11_000);
  await stragglers.look();
  await stragglers.look();
  expect(started()).toEqual(['run-1']);
});

it('a run that its recorder could not start is started at once', async () => {
  const { runs, stragglers, started } = scene();
  await runs.record(request);
  await runs.stand('run-1', 'the server is away');
  await stragglers.look();
  expect(started()).toEqual(['run-1']);
});

it('children are left to their parents', async () => {
  const { clock, runs, stragglers, started } = scene();
  await runs.record({ ...request, parent: { runId: 'p', block: 'W', scope: [], depth: 1 } });
  clock.advance(60_000);
  await stragglers.look();
  expect(started()).toEqual([]);
});

it('a server that is away is told of, and asked again', async () => {
  const { clock, runs, stragglers, start, onError } = scene();
  await runs.record(request);
  clock.advance(60_000);
  const away = new EngineError('RUNTIME_UNREACHABLE', 'away');
  start.mockRejectedValueOnce(away);
  await stragglers.look();
  await stragglers.look();
  await stragglers.look();
  expect(start).toHaveBeenCalledTimes(2);
  expect(onError.mock.calls.map(([error]) => error)).toEqual([away]);
});

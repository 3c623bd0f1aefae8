import type {
  ControlHandler,
  NewControlRequest,
  ControlRequest,
  ControlStore,
} from '../../../packages/engine/src/store/control.ts';
import { serveRequests } from '../../../packages/engine/src/store/control.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const CANCEL_REQUEST: NewControlRequest = { runId: 'r', kind: 'cancel', payload: { reason: 'ä' } };

/** Serves the requests until the returned function is called or the test ends. */
async function serve(store: ControlStore, handle: ControlHandler): Promise<() => Promise<void>> {
  const onError = (error: unknown): void => {
    throw error;
  };
  const stop = await serveRequests(store, { handle, onError });
  onTestFinished(() => void stop());
  return stop;
}

/** Defines the tests of control stores. `makeStore` returns a new, empty store. */
export function describeControlStore(name: string, makeStore: () => ControlStore): void {
  describe(`${name}: control store`, () => {
    it('passes a request to the server and returns the outcome', async () => {
      const store = makeStore();
      const handledRequests: ControlRequest[] = [];
      await serve(store, (request) => {
        handledRequests.push(request);
        return { answer: request.runId };
      });
      const id = await store.add(CANCEL_REQUEST);
      await vi.waitUntil(() => store.outcome(id));
      expect(store.outcome(id)).toEqual({ status: 'done', value: { answer: 'r' } });
      expect(handledRequests).toEqual([{ ...CANCEL_REQUEST, id, createdMs: expect.any(Number) as number }]);
    });

    it('keeps requests until a server starts, and delivers each one once, oldest first', async () => {
      const store = makeStore();
      const ids = [
        await store.add(CANCEL_REQUEST),
        await store.add(CANCEL_REQUEST),
        await store.add(CANCEL_REQUEST),
      ];
      expect(ids.map((id) => store.outcome(id))).toEqual([undefined, undefined, undefined]);
      const handledIds: string[] = [];
      const stop = await serve(store, ({ id }) => {
        handledIds.push(id);
        return null;
      });
      await stop();
      const stopSecondServer = await serve(store, ({ id }) => {
        handledIds.push(`again ${id}`);
        return null;
      });
      await stopSecondServer();
      expect(handledIds).toEqual(ids);
    });

    it('handles a slow request once, and other requests at the same time', async () => {
      const store = makeStore();
      const resolvers: (() => void)[] = [];
      await serve(store, () => new Promise((resolve) => resolvers.push(() => resolve(null))));
      const slowId = await store.add(CANCEL_REQUEST);
      const nextId = await store.add(CANCEL_REQUEST);
      await vi.waitUntil(() => resolvers.length === 2);
      resolvers[1]?.();
      await vi.waitUntil(() => store.outcome(nextId));
      expect(store.outcome(slowId)).toBeUndefined();
      resolvers[0]?.();
      await vi.waitUntil(() => store.outcome(slowId));
      expect(resolvers).toHaveLength(2);
    });

    it('returns the error of a rejected request', async () => {
      const store = makeStore();
      const { EngineError } = await import('@heddle/core');
      await serve(store, ({ kind }) => {
        if (kind === 'resume') throw new TypeError('bug');
        throw new EngineError('RUN_ENDED', 'Run "r" has ended.');
      });
      const cancelId = await store.add(CANCEL_REQUEST);
      const resumeId = await store.add({ ...CANCEL_REQUEST, kind: 'resume' });
      await vi.waitUntil(() => store.outcome(cancelId) && store.outcome(resumeId));
      expect(store.outcome(cancelId)).toEqual({
        status: 'rejected',
        code: 'RUN_ENDED',
        message: 'Run "r" has ended.',
      });
      expect(store.outcome(resumeId)).toEqual({ status: 'rejected', code: 'UNEXPECTED', message: 'bug' });
    });

    it('delivers no request after the server has stopped', async () => {
      const store = makeStore();
      const stop = await serve(store, () => null);
      await stop();
      const id = await store.add(CANCEL_REQUEST);
      await new Promise((resolve) => setImmediate(resolve));
      expect(store.outcome(id)).toBeUndefined();
    });

    it('lists requests without an outcome, oldest first, until they are removed', async () => {
      const store = makeStore();
      const ids = [
        await store.add(CANCEL_REQUEST),
        await store.add(CANCEL_REQUEST),
        await store.add(CANCEL_REQUEST),
      ];
      const [firstId = '', secondId = '', thirdId] = ids;
      expect((await store.openRequests()).map(({ id }) => id)).toEqual(ids);
      await store.settle(firstId, { status: 'done', value: 1 });
      await store.settle(firstId, { status: 'done', value: 2 });
      expect(await store.outcome(firstId)).toEqual({ status: 'done', value: 1 });
      await store.remove(secondId);
      expect((await store.openRequests()).map(({ id }) => id)).toEqual([thirdId]);
      await store.remove(firstId);
      expect(await store.outcome(firstId)).toBeUndefined();
    });
  });
}

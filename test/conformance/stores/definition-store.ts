import type { DefinitionStore } from '@heddle/core';
import { describe, expect, it } from 'vitest';

/** Defines the tests of definition stores. `makeStore` returns a new, empty store. */
export function describeDefinitionStore(
  name: string,
  makeStore: () => DefinitionStore | Promise<DefinitionStore>,
): void {
  async function createStoreWithPlans(): Promise<DefinitionStore> {
    const store = await makeStore();
    for (const hash of ['p1', 'p2', 'p3']) await store.putPlan(hash, { hash });
    return store;
  }

  describe(`${name}: definition store`, () => {
    it('returns a plan by its hash, and never replaces it', async () => {
      const store = await makeStore();
      await store.putPlan('p', { blocks: ['ä', null] });
      await store.putPlan('p', { changed: true });
      expect(await store.plan('p')).toEqual({ blocks: ['ä', null] });
      expect(await store.plan('other')).toBeUndefined();
    });

    it('numbers the versions of each workflow from 1', async () => {
      const store = await createStoreWithPlans();
      expect(await store.deploy({ workflowId: 'w', name: 'W', planHash: 'p1', atMs: 1 })).toBe(1);
      expect(await store.deploy({ workflowId: 'w', name: 'W', planHash: 'p2', atMs: 2 })).toBe(2);
      expect(await store.deploy({ workflowId: 'v', name: 'V', planHash: 'p2', atMs: 3 })).toBe(1);
      expect(await store.find('w')).toEqual({ workflowId: 'w', name: 'W', version: 2, planHash: 'p2' });
      expect(await store.find('w', 1)).toEqual({ workflowId: 'w', name: 'W', version: 1, planHash: 'p1' });
      expect(await store.find('w', 3)).toBeUndefined();
      expect(await store.find('w', 0)).toBeUndefined();
    });

    it('finds no workflow for a string that cannot be an id or name', async () => {
      const store = await createStoreWithPlans();
      await store.deploy({ workflowId: 'w', name: 'W', planHash: 'p1', atMs: 1 });
      for (const name of ['w\0', '\0', '\uD800', '']) expect(await store.find(name)).toBeUndefined();
    });

    it('creates no new version for the plan of the newest version, but does for the plan of an older version', async () => {
      const store = await createStoreWithPlans();
      const deploy = async (planHash: string): Promise<number> =>
        store.deploy({ workflowId: 'w', name: 'W', planHash, atMs: 1 });
      expect([await deploy('p1'), await deploy('p1'), await deploy('p2'), await deploy('p1')]).toEqual([
        1, 1, 2, 3,
      ]);
    });

    it('finds a workflow by its id first, then by the name of its newest version', async () => {
      const store = await createStoreWithPlans();
      await store.deploy({ workflowId: 'w', name: 'Mail', planHash: 'p1', atMs: 1 });
      expect(await store.find('Mail', 1)).toMatchObject({ workflowId: 'w', version: 1 });
      await store.deploy({ workflowId: 'w', name: 'Letters', planHash: 'p2', atMs: 2 });
      expect(await store.find('Mail')).toBeUndefined();
      expect(await store.find('Letters', 1)).toMatchObject({ workflowId: 'w', name: 'Mail' });
      await store.deploy({ workflowId: 'Letters', name: 'Other', planHash: 'p1', atMs: 3 });
      expect(await store.find('Letters')).toMatchObject({ workflowId: 'Letters' });
    });

    it('finds the most recently deployed workflow if several have the name', async () => {
      const store = await createStoreWithPlans();
      await store.deploy({ workflowId: 'a', name: 'Same', planHash: 'p1', atMs: 1 });
      await store.deploy({ workflowId: 'b', name: 'Same', planHash: 'p1', atMs: 2 });
      expect(await store.find('Same')).toMatchObject({ workflowId: 'b' });
      await store.deploy({ workflowId: 'a', name: 'Same', planHash: 'p3', atMs: 3 });
      expect(await store.find('Same')).toMatchObject({ workflowId: 'a', version: 2 });
    });

    it('refuses to deploy a plan that was never stored', async () => {
      const store = await makeStore();
      const deploy = async (): Promise<number> =>
        store.deploy({ workflowId: 'w', name: 'W', planHash: 'x', atMs: 1 });
      await expect(deploy()).rejects.toThrow(/before its plan x was stored/);
      expect(await store.find('w')).toBeUndefined();
    });
  });
}

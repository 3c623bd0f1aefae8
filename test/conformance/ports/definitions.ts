import type { Definitions } from '@heddle/api/ports';
import { describe, expect, it } from 'vitest';

/** A workflow to define. */
export interface NewDefinition {
  workspaceId: string;
  name: string;
  isDeployed?: boolean;
  isPublic?: boolean;
  isArchived?: boolean;
}

/** An implementation under test, and a function that adds workflows. */
export interface DefinitionsSetup {
  definitions: Definitions;
  workspaceIds: readonly [string, string];
  /** Returns the id of the workflow. */
  define(workflow: NewDefinition): Promise<string>;
}

/** Tests an implementation of workflow definitions. `open` opens an empty one with two workspaces. */
export function describeDefinitions(name: string, open: () => Promise<DefinitionsSetup>): void {
  describe(`${name}: definitions`, () => {
    it('are found by their ids, with their workspace, live version and states', async () => {
      const { definitions, define, workspaceIds } = await open();
      const [workspaceId] = workspaceIds;
      const draft = await define({ workspaceId, name: 'Draft' });
      const live = await define({ workspaceId, name: 'Live', isDeployed: true, isPublic: true });
      const archived = await define({ workspaceId, name: 'Old', isArchived: true });
      const found = await definitions.find(draft);
      expect(found).toMatchObject({ id: draft, workspaceId });
      expect(found?.live).toBeUndefined();
      expect(found?.isPublic ?? false).toBe(false);
      expect(await definitions.find(live)).toMatchObject({ live: expect.any(Number), isPublic: true });
      expect(await definitions.find(archived)).toMatchObject({ isArchived: true });
      for (const unknown of ['', 'none', draft.slice(1), `${draft}\0`])
        expect(await definitions.find(unknown)).toBeUndefined();
    });

    it('belong to a tenant with the id of their workspace', async () => {
      const { definitions, define, workspaceIds } = await open();
      for (const workspaceId of workspaceIds) {
        const id = await define({ workspaceId, name: 'Loom' });
        expect(await definitions.tenant(id)).toBe(workspaceId);
      }
      expect(await definitions.tenant('none')).toBeUndefined();
    });

    it('can be children only of callers in the same workspace, and only if they are deployed and not archived', async () => {
      const { definitions, define, workspaceIds } = await open();
      const [workspaceId, other] = workspaceIds;
      const caller = await define({ workspaceId, name: 'Caller' });
      const child = await define({ workspaceId, name: 'Child', isDeployed: true });
      const foreign = await define({ workspaceId: other, name: 'Foreign', isDeployed: true });
      const draft = await define({ workspaceId, name: 'Draft' });
      const archived = await define({ workspaceId, name: 'Old', isDeployed: true, isArchived: true });
      const { live } = (await definitions.find(child)) ?? {};
      expect(await definitions.resolveChild(caller, child)).toMatchObject({ workflow: child, version: live });
      for (const reference of [foreign, draft, archived, 'none', '', `${child}\0`, '\uD800'])
        expect(await definitions.resolveChild(caller, reference)).toBeUndefined();
      expect(await definitions.resolveChild('none', child)).toBeUndefined();
    });
  });
}

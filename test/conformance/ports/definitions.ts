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
      const draftId = await define({ workspaceId, name: 'Draft' });
      const liveId = await define({ workspaceId, name: 'Live', isDeployed: true, isPublic: true });
      const archivedId = await define({ workspaceId, name: 'Old', isArchived: true });
      const draft = await definitions.find(draftId);
      expect(draft).toMatchObject({ id: draftId, workspaceId });
      expect(draft?.liveVersion).toBeUndefined();
      expect(draft?.isPublic ?? false).toBe(false);
      expect(await definitions.find(liveId)).toMatchObject({
        liveVersion: expect.any(Number),
        isPublic: true,
      });
      expect(await definitions.find(archivedId)).toMatchObject({ isArchived: true });
      for (const unknownId of ['', 'none', draftId.slice(1), `${draftId}\0`])
        expect(await definitions.find(unknownId)).toBeUndefined();
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
      const [workspaceId, otherWorkspaceId] = workspaceIds;
      const callerId = await define({ workspaceId, name: 'Caller' });
      const childId = await define({ workspaceId, name: 'Child', isDeployed: true });
      const foreignWorkflowId = await define({
        workspaceId: otherWorkspaceId,
        name: 'Foreign',
        isDeployed: true,
      });
      const draftId = await define({ workspaceId, name: 'Draft' });
      const archivedId = await define({ workspaceId, name: 'Old', isDeployed: true, isArchived: true });
      const { liveVersion } = (await definitions.find(childId)) ?? {};
      expect(await definitions.resolveChild(callerId, childId)).toMatchObject({
        workflow: childId,
        version: liveVersion,
      });
      for (const reference of [foreignWorkflowId, draftId, archivedId, 'none', '', `${childId}\0`, '\uD800'])
        expect(await definitions.resolveChild(callerId, reference)).toBeUndefined();
      expect(await definitions.resolveChild('none', childId)).toBeUndefined();
    });
  });
}

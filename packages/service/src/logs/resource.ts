import { areaResource, workspaceIdsOf } from '@heddle/api/areas';
import { findLog } from './logs.ts';
import type { LogServices } from './logs.ts';

/** The run that `runId` in the path names, in the workspaces of the caller. */
export const logResource = areaResource(
  'Log',
  async ({ principal, path }, services: LogServices, context) => {
    const { runId } = path as { runId: string };
    const row = await findLog(services, runId, await workspaceIdsOf(context, principal));
    return row && { value: row, workspaceIds: [row.workspace_id] };
  },
);

import * as z from 'zod';
import { manifest } from './payload.ts';

const open = z.record(z.string(), z.unknown());

export const none = z.strictObject({});
export const workflowPath = z.strictObject({ workflowId: z.string().min(1).max(255) });

export const exportQuery = z.strictObject({
  includeReferences: z
    .boolean()
    .default(false)
    .meta({ description: 'Add the manifest of the resources that the workflow refers to' }),
  includeWorkspaceBindings: z
    .boolean()
    .default(false)
    .meta({ description: 'Keep what was chosen from the workspace, for an import into the same workspace' }),
});

export const exportPayload = z.object({
  version: z.literal('1.0'),
  representation: z.literal('portable-export'),
  exportedAt: z.iso.datetime(),
  workflow: z.object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    workspaceId: z.string(),
    folderPath: z.string(),
  }),
  state: z.object({
    blocks: open,
    edges: z.array(open),
    loops: open,
    parallels: open,
    variables: open,
    metadata: open.optional(),
  }),
  warnings: z.array(z.string()),
  referenceManifest: manifest.optional(),
});

export type ExportPayload = z.output<typeof exportPayload>;

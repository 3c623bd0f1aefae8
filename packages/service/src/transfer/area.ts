import type { Area } from '@heddle/api';
import type { ServiceStore } from '../store/open.ts';
import { TRANSFER_MIGRATIONS } from './migrations.ts';
import {
  exportWorkflow,
  getWorkspaceOperation,
  importWorkflow,
  listWorkspaceOperations,
  previewWorkflowImport,
} from './operations.ts';
import type { TransferServices } from './operations.ts';
import { Transfers } from './transfers.ts';

const OPERATIONS = {
  exportWorkflow,
  previewWorkflowImport,
  importWorkflow,
  getWorkspaceOperation,
  listWorkspaceOperations,
} as const;

/**
 * Returns the area (a module of API operations with its own tables) that exports and imports workflows and stores the
 * receipts of imports.
 */
export function transfers({ store }: { store: ServiceStore }): Area<TransferServices, typeof OPERATIONS> {
  return {
    name: 'transfer',
    operations: OPERATIONS,
    migrations: TRANSFER_MIGRATIONS,
    services: ({ now }) => ({ store, transfers: new Transfers({ store, now }) }),
  };
}

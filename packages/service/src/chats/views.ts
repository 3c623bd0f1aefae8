import type * as z from 'zod';
import type { WorkflowRow } from '../store/schema.ts';
import type * as schemas from './schemas.ts';
import type { ChatRow } from './tables.ts';

/** The path of a page before its identifier. */
export const PATH_PREFIXES = { chat: '/chat/', form: '/form/' } as const;
export type Page = keyof typeof PATH_PREFIXES;

/** Returns the pages that are served. */
export function pagesOf({ pages }: Pick<ChatRow, 'pages'>): Page[] {
  return JSON.parse(pages) as Page[];
}

/** Returns the selectors of the outputs that are shown. */
export function outputSelectorsOf({ outputs }: Pick<ChatRow, 'outputs'>): string[] {
  return JSON.parse(outputs) as string[];
}

/** Returns the deployment as the API shows it. `origin`: scheme, host and base path of the API. */
export function deploymentView(
  row: ChatRow,
  { active_version, archived_at }: Pick<WorkflowRow, 'active_version' | 'archived_at'>,
  origin: string,
): z.output<typeof schemas.chatDeployment> {
  const pages = pagesOf(row);
  const urlOf = (page: Page): string | null =>
    pages.includes(page) ? origin + PATH_PREFIXES[page] + row.identifier : null;
  return {
    ...{ id: row.id, workspaceId: row.workspace_id, workflowId: row.workflow_id },
    ...{ identifier: row.identifier, title: row.title, description: row.description },
    ...{ welcomeMessage: row.welcome_message, pages, outputs: outputSelectorsOf(row) },
    authType: row.password_hash === null ? 'public' : 'password',
    isLive: active_version !== null && archived_at === null,
    ...{ chatUrl: urlOf('chat'), formUrl: urlOf('form') },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at },
  };
}

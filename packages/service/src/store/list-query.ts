import { sql } from 'kysely';
import type { SelectQueryBuilder } from 'kysely';
import { escapeLike } from '../paging.ts';
import type { Db } from './database.ts';
import type { Tables, WorkflowRow } from './schema.ts';

export type WorkflowSort = 'position' | 'name' | 'createdAt' | 'updatedAt' | 'runCount';

export interface WorkflowListQuery {
  workspaceId: string;
  archived: boolean;
  folderPath?: string | undefined;
  deployedOnly?: boolean | undefined;
  search?: string | undefined;
  sortBy: WorkflowSort;
  sortOrder: 'asc' | 'desc';
  limit: number;
  /** The sort value and the id of the last item of the previous page. */
  after?: readonly [string | number | null, string] | undefined;
}

/** A workflow without its draft: drafts are long, so lists do not read them. */
export type ListedWorkflow = Omit<WorkflowRow, 'state'>;

type WorkflowSelect = SelectQueryBuilder<Tables, 'workflows', ListedWorkflow>;

const SORT_COLUMNS = {
  position: 'position',
  name: 'name',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  runCount: 'runs',
} as const;

/** Returns the expression to sort by. */
function sortExpressionOf(sortBy: WorkflowSort) {
  return sql<string | number>`${sql.ref(SORT_COLUMNS[sortBy])}`;
}

/** Returns the query for a page of workflows, and for one more workflow if there is a next page. */
export function listQuery(db: Db, query: WorkflowListQuery): WorkflowSelect {
  const { workspaceId, archived, folderPath, deployedOnly, sortOrder, limit } = query;
  const baseQuery =
    query.sortBy === 'runCount'
      ? db.selectFrom('workflows').innerJoin('run_counts', 'run_counts.workflow_id', 'workflows.id')
      : db.selectFrom('workflows');
  const selectQuery = baseQuery
    .select(['id', 'workspace_id', 'name', 'description', 'folder_path', 'position', 'active_version'])
    .select(['deployed_at', 'public_api', 'created_at', 'updated_at', 'archived_at'])
    .where('workspace_id', '=', workspaceId)
    .where('archived_at', archived ? 'is not' : 'is', null)
    .$if(folderPath !== undefined, (builder) => builder.where('folder_path', '=', folderPath as string))
    .$if(deployedOnly === true, (builder) => builder.where('active_version', 'is not', null));
  const sortExpression = sortExpressionOf(query.sortBy);
  return startAfterItem(filterByName(selectQuery, query.search), query)
    .orderBy(sortExpression, sortOrder)
    .orderBy('id', sortOrder)
    .limit(limit + 1);
}

/** Selects the workflows whose name contains `search`. Wildcards in `search` are matched literally. */
function filterByName(selectQuery: WorkflowSelect, search: string | undefined): WorkflowSelect {
  if (search === undefined) return selectQuery;
  const pattern = `%${escapeLike(search.toLowerCase())}%`;
  return selectQuery.where(sql<boolean>`lower(name) like ${pattern} escape '\\'`);
}

function startAfterItem(selectQuery: WorkflowSelect, query: WorkflowListQuery): WorkflowSelect {
  if (!query.after) return selectQuery;
  const [value, id] = query.after;
  const sortExpression = sortExpressionOf(query.sortBy);
  const operator = sql.raw(query.sortOrder === 'asc' ? '>' : '<');
  return selectQuery.where(sql<boolean>`(${sortExpression}, id) ${operator} (${value}, ${id})`);
}

/** The filters in the URL of the list of runs. */
export interface RunListSearch {
  status?: string;
  workflowIds?: string;
  workflowName?: string;
  triggers?: string;
  runId?: string;
  /** The id of a period in `PERIODS`: runs that started in it. */
  since?: string;
  minDurationMs?: number;
  minCost?: number;
  /** A string that the input, the output or an error of a run contains. */
  text?: string;
  /** The part of a run that is searched for the text; absent: all parts. */
  in?: TextPart;
}

/** What the page of a run shows: the selection, an iteration, a pane and a view. */
export interface RunSearch {
  /** The selected span; absent: the run. */
  span?: string | undefined;
  /** The selected block, if it has not run. */
  block?: string | undefined;
  /** The iteration whose blocks the graph shows. */
  scope?: string | undefined;
  pane?: Pane | undefined;
  view?: 'timeline' | undefined;
}

/** The workflows that the list shows. */
export interface WorkflowListSearch {
  /** The path of a folder; absent: all workflows. */
  folder?: string | undefined;
}

/** The graph that the page of a workflow shows. */
export interface WorkflowSearch {
  /** A version, or the draft; absent: the live version, or the draft if there is none. */
  version?: number | 'draft' | undefined;
  /** The selected block. */
  block?: string | undefined;
}

export const TEXT_PARTS = ['input', 'output', 'error'] as const;
export type TextPart = (typeof TEXT_PARTS)[number];

export const PANES = ['output', 'input', 'console', 'details'] as const;
export type Pane = (typeof PANES)[number];

type RawSearch = { [name: string]: unknown };

function readString(rawSearch: RawSearch, name: string): string | undefined {
  const value = rawSearch[name];
  // The router parses a string of digits as a number.
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function readNumber(rawSearch: RawSearch, name: string): number | undefined {
  const value = Number(rawSearch[name] ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

function omitUndefined<T extends object>(values: { [Key in keyof T]-?: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

export function parseRunListSearch(rawSearch: RawSearch): RunListSearch {
  return omitUndefined<RunListSearch>({
    status: readString(rawSearch, 'status'),
    workflowIds: readString(rawSearch, 'workflowIds'),
    workflowName: readString(rawSearch, 'workflowName'),
    triggers: readString(rawSearch, 'triggers'),
    runId: readString(rawSearch, 'runId'),
    since: readString(rawSearch, 'since'),
    minDurationMs: readNumber(rawSearch, 'minDurationMs'),
    minCost: readNumber(rawSearch, 'minCost'),
    text: readString(rawSearch, 'text'),
    in: TEXT_PARTS.find((part) => part === rawSearch['in']),
  });
}

export function parseRunSearch(rawSearch: RawSearch): RunSearch {
  return omitUndefined<RunSearch>({
    span: readString(rawSearch, 'span'),
    block: readString(rawSearch, 'block'),
    scope: readString(rawSearch, 'scope'),
    pane: PANES.find((pane) => pane === rawSearch['pane']),
    view: rawSearch['view'] === 'timeline' ? 'timeline' : undefined,
  });
}

export function parseWorkflowListSearch(rawSearch: RawSearch): WorkflowListSearch {
  return omitUndefined<WorkflowListSearch>({ folder: readString(rawSearch, 'folder') });
}

export function parseWorkflowSearch(rawSearch: RawSearch): WorkflowSearch {
  return omitUndefined<WorkflowSearch>({
    version: rawSearch['version'] === 'draft' ? 'draft' : readNumber(rawSearch, 'version'),
    block: readString(rawSearch, 'block'),
  });
}

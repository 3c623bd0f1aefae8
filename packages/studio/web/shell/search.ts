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
  /** The parts of a run in which the text is searched; absent: all. */
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

function stringIn(raw: RawSearch, name: string): string | undefined {
  const value = raw[name];
  // The router parses a string of digits as a number.
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberIn(raw: RawSearch, name: string): number | undefined {
  const value = Number(raw[name] ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

function omitUndefined<T extends object>(values: { [Key in keyof T]-?: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

export function parseRunListSearch(raw: RawSearch): RunListSearch {
  return omitUndefined<RunListSearch>({
    status: stringIn(raw, 'status'),
    workflowIds: stringIn(raw, 'workflowIds'),
    workflowName: stringIn(raw, 'workflowName'),
    triggers: stringIn(raw, 'triggers'),
    runId: stringIn(raw, 'runId'),
    since: stringIn(raw, 'since'),
    minDurationMs: numberIn(raw, 'minDurationMs'),
    minCost: numberIn(raw, 'minCost'),
    text: stringIn(raw, 'text'),
    in: TEXT_PARTS.find((part) => part === raw['in']),
  });
}

export function parseRunSearch(raw: RawSearch): RunSearch {
  return omitUndefined<RunSearch>({
    span: stringIn(raw, 'span'),
    block: stringIn(raw, 'block'),
    scope: stringIn(raw, 'scope'),
    pane: PANES.find((pane) => pane === raw['pane']),
    view: raw['view'] === 'timeline' ? 'timeline' : undefined,
  });
}

export function parseWorkflowListSearch(raw: RawSearch): WorkflowListSearch {
  return omitUndefined<WorkflowListSearch>({ folder: stringIn(raw, 'folder') });
}

export function parseWorkflowSearch(raw: RawSearch): WorkflowSearch {
  return omitUndefined<WorkflowSearch>({
    version: raw['version'] === 'draft' ? 'draft' : numberIn(raw, 'version'),
    block: stringIn(raw, 'block'),
  });
}

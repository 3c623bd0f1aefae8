import type { Json } from '@heddle/core';
import type { Span, StoredValue } from '@heddle/core/run';
import { filtersOf } from './filters.ts';
import type { LogServices } from './logs.ts';
import type { LogPosition } from './query.ts';
import type { LogEntry, SearchQuery } from './schemas.ts';
import { bytesOf, walkSpans, hidesOutput } from './spans.ts';
import { readPageOfLogs, workflowsOf } from './store.ts';
import type { LogRow } from './tables.ts';
import { entryOf, traceOf } from './views.ts';

/**
 * Limits of one request. The search ends with the run that reaches one of the limits. Values of more than `valueBytes`
 * bytes are not searched.
 */
export const SEARCH_LIMITS = { runs: 100, spans: 50_000, bytes: 16 * 2 ** 20, valueBytes: 2 ** 20 } as const;

/** Number of characters of a preview on each side of the text. */
const CONTEXT_CHARACTERS = 60;

type SearchPart = 'input' | 'output' | 'error';

export interface SearchMatch {
  run: LogEntry;
  in: SearchPart;
  /** The name of the block whose error has the text; null for errors and values of the run itself. */
  blockName: string | null;
  preview: string;
}

export interface SearchResult {
  matches: SearchMatch[];
  /** Number of runs that were read. */
  searchedRuns: number;
  /** Number of values of these runs that were too large to search. */
  skippedValues: number;
  next: LogPosition | undefined;
}

/**
 * Searches inputs, outputs and errors of runs for a string, case-insensitive, newest runs first. Stops after the run
 * that reaches one of SEARCH_LIMITS, and returns the position at which the next request continues. Throws 400 for
 * invalid filters.
 */
export async function searchLogs(
  services: LogServices,
  query: SearchQuery,
  afterPosition: LogPosition | undefined,
): Promise<SearchResult> {
  const { engine, db, indexer } = services;
  const filters = filtersOf(query);
  await indexer.update();
  const pageOptions = {
    sortBy: 'startedAt',
    sortOrder: 'desc',
    limit: SEARCH_LIMITS.runs,
    afterPosition,
  } as const;
  const { rows, next } = await readPageOfLogs(db, { ...filters, ...pageOptions });
  const search = new RunSearch(services, query);
  const hits: { row: LogRow; match: Omit<SearchMatch, 'run'> }[] = [];
  let lastRow: LogRow | undefined;
  for (const row of rows) {
    if (search.isExhausted) break;
    const match = await search.matchIn(row);
    if (match) hits.push({ row, match });
    lastRow = row;
  }
  const workflows = await workflowsOf(
    db,
    hits.map(({ row }) => row.workflow_id),
  );
  const entryContext = {
    options: { isFull: true, includeTraceSpans: false, includeFinalOutput: false },
    budget: { spans: 0, bytes: 0 },
  };
  const matches: SearchMatch[] = [];
  for (const { row, match } of hits) {
    const workflow = workflows.get(row.workflow_id);
    matches.push({ run: await entryOf(engine, { row, workflow }, entryContext), ...match });
  }
  const isPageSearched = lastRow === rows.at(-1);
  return {
    matches,
    searchedRuns: search.searchedRuns,
    skippedValues: search.skippedValues,
    next: isPageSearched ? next : lastRow && [lastRow.started_ms, lastRow.engine_id],
  };
}

/** Searches the errors and values of runs, and counts what it reads. */
class RunSearch {
  searchedRuns = 0;
  skippedValues = 0;
  readonly #services: LogServices;
  readonly #parts: ReadonlySet<SearchPart>;
  /** The text in lower case, to find in errors. */
  readonly #text: string;
  /** The text in lower case and escaped, to find in the JSON text of values. */
  readonly #jsonText: string;
  #spanCount = 0;
  #byteCount = 0;

  constructor(services: LogServices, query: Pick<SearchQuery, 'text' | 'in'>) {
    this.#services = services;
    this.#parts = new Set(query.in === 'any' ? ['error', 'output', 'input'] : [query.in]);
    this.#text = query.text.toLowerCase();
    this.#jsonText = JSON.stringify(query.text).slice(1, -1).toLowerCase();
  }

  get isExhausted(): boolean {
    return this.#byteCount >= SEARCH_LIMITS.bytes || this.#spanCount >= SEARCH_LIMITS.spans;
  }

  async matchIn(row: LogRow): Promise<Omit<SearchMatch, 'run'> | undefined> {
    const root = await traceOf(this.#services.engine, row.engine_id);
    if (!root) return undefined;
    this.searchedRuns += 1;
    const spans = [...walkSpans(root)];
    this.#spanCount += spans.length;
    const error = this.#parts.has('error') ? this.#errorMatchIn(spans, row) : undefined;
    return error ?? (await this.#valueMatchIn(root, 'output')) ?? (await this.#valueMatchIn(root, 'input'));
  }

  #errorMatchIn(spans: readonly Span[], { engine_id: engineRunId, run_id: runId }: LogRow) {
    for (const [index, span] of spans.entries()) {
      if (span.error) {
        // Callers know the run by their own id.
        const { code, message } = span.error;
        const preview = previewIn(`${code}: ${message.replaceAll(engineRunId, runId)}`, this.#text);
        const blockName = index === 0 ? null : span.name;
        if (preview !== undefined) return { in: 'error' as const, blockName, preview };
      }
    }
    return undefined;
  }

  async #valueMatchIn(root: Span, part: 'input' | 'output') {
    const storedValue = root[part];
    const isHidden = part === 'output' && hidesOutput(root);
    if (!this.#parts.has(part) || !storedValue || isHidden || !this.#isSearchable(storedValue))
      return undefined;
    const preview = previewIn(JSON.stringify(await this.#read(storedValue)), this.#jsonText);
    return preview === undefined ? undefined : { in: part, blockName: null, preview };
  }

  /** Counts the bytes of the value, unless it is too large. Returns whether it is searched. */
  #isSearchable(storedValue: StoredValue): boolean {
    const bytes = bytesOf(storedValue);
    if (bytes > SEARCH_LIMITS.valueBytes) {
      this.skippedValues += 1;
      return false;
    }
    this.#byteCount += bytes;
    return true;
  }

  #read(storedValue: StoredValue): Promise<Json> {
    return this.#services.engine.readValue(storedValue);
  }
}

/** Returns the first occurrence of `text` with its context. `text` is in lower case. */
function previewIn(content: string, text: string): string | undefined {
  const lowerContent = content.toLowerCase();
  const start = lowerContent.indexOf(text);
  if (start < 0) return undefined;
  // Some letters, such as İ, are longer in lower case. Then the position is valid only in the lower-case content.
  const source = lowerContent.length === content.length ? content : lowerContent;
  return source.slice(Math.max(0, start - CONTEXT_CHARACTERS), start + text.length + CONTEXT_CHARACTERS);
}

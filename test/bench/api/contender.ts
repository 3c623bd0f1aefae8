/** The contenders: Heddle's API, a Hono handler that calls the same engine, and a constant response. */
export type ContenderName = 'heddle' | 'hono' | 'constant';

/** Where a contender stores data: in memory, in a data folder (SQLite), or in SQLite or PostgreSQL with many rows. */
export type Storage = 'memory' | 'folder' | 'seeded' | 'seeded postgres';

/** Reads of a store with 10,000 workflows and 100,000 runs: a page, one item, or statistics. */
export type ReadName = 'workflows' | 'workflow' | 'logs' | 'log' | 'stats';

/** A path of a contender, and the headers of its requests. */
export interface Endpoint {
  path: string;
  headers: { [name: string]: string };
}

/** A contender whose handler is ready. */
export interface Contender {
  fetch(request: Request): Response | Promise<Response>;
  /** Runs the workflow of one step. */
  run: Endpoint;
  /** Runs the workflow of one step and a wait for the gate. */
  wait: Endpoint;
  /** Accepts a webhook delivery: Heddle stores it and starts a run, Hono only responds. */
  webhook?: Endpoint;
  /** Set only if the store is seeded. */
  reads?: Readonly<Record<ReadName, Endpoint>>;
  close(): Promise<void>;
}

/** Requests of the benchmark to the process of a server. */
export type ServerRequest =
  | { open: ContenderName; storage: Storage }
  /** The response is sent when the process has run this many steps in total. */
  | { steps: number }
  | 'steps'
  | 'cpu'
  | 'memory'
  /** Opens the gate for all runs that wait at it. */
  | 'gate'
  | 'close';

export type Reply = OpenedContender | { number: number } | 'done' | { errorMessage: string };

export interface OpenedContender extends Pick<Contender, 'run' | 'wait' | 'webhook' | 'reads'> {
  origin: string;
}

/** The constant response, in the form of Heddle's response. */
export const CONSTANT_RESPONSE = {
  data: {
    runId: '00000000-0000-4000-8000-000000000000',
    workflowId: 'constant',
    status: 'completed',
    output: { n: 1 },
    blockOutputs: null,
    error: null,
    startedAt: '2000-01-01T00:00:00.000Z',
    endedAt: '2000-01-01T00:00:00.001Z',
    durationMs: 1,
  },
} as const;

/** The server-sent events of the stream of a run with a step and a wait. */
export const SSE_EVENTS = {
  first: { blockId: 'S1', chunk: '1' },
  final: { event: 'final', data: { success: true, output: { n: 2 } } },
  done: '[DONE]',
} as const;

/** Returns the text of a server-sent event. */
export function formatSseEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

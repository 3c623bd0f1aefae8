/** Who answers: Heddle's interface, a bare Hono handler that calls the same engine, one that answers a constant. */
export type ContenderName = 'heddle' | 'hono' | 'constant';

/** Where runs and records are: in memory, in a data folder with SQLite, or there with many rows. */
export type Place = 'memory' | 'folder' | 'filled';

/** What is read of 10,000 workflows and 100,000 runs: a page, or one of them. */
export type ReadName = 'workflows' | 'workflow' | 'logs' | 'log';

/** How a contender is asked to run its workflow once: the same body for all of them. */
export interface Endpoint {
  path: string;
  headers: { [name: string]: string };
}

/** One of them, ready to be listened for. */
export interface Contender {
  fetch(request: Request): Response | Promise<Response>;
  /** The workflow of one step. */
  run: Endpoint;
  /** The workflow that steps, and then waits for the gate. */
  wait: Endpoint;
  /** In a filled place. */
  reads?: Readonly<Record<ReadName, Endpoint>>;
  close(): Promise<void>;
}

/** What the bench asks of a server's process. */
export type ServerRequest =
  | { open: ContenderName; place: Place }
  /** Answered once so many steps have been run in all. */
  | { steps: number }
  | 'steps'
  | 'cpu'
  | 'memory'
  /** Lets everything go on that waits at the gate. */
  | 'gate'
  | 'close';

export type Reply = Opened | { number: number } | 'done' | { failed: string };

export interface Opened extends Pick<Contender, 'run' | 'wait' | 'reads'> {
  origin: string;
}

/** What the constant handler says, in the shape of Heddle's answer. */
export const CONSTANT = {
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

/** The frames of a stream whose run steps, waits, and ends. */
export const FRAMES = {
  first: { blockId: 'S1', chunk: '1' },
  final: { event: 'final', data: { success: true, output: { n: 2 } } },
  last: '[DONE]',
} as const;

/** One frame of server-sent events. */
export function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

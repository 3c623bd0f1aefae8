/** Version of the machine's rules. It increases with each change that alters what a recorded run does. */
export const MACHINE_VERSION = 1;

/**
 * The control flow of one execution of a region: a DAG of densely indexed nodes. Plans are stored and hashed, so their
 * keys (`maxTries`, `perTurn`) do not change.
 *
 * Indexes are in topological order with ties by block id, so they do not depend on the order of JSON keys.
 */
export interface Region {
  nodes: Node[];
  /** Indexes of the nodes without in-edges, in start order: order of the edges from the container, then index. */
  entries: number[];
}

/** Kind of node; see docs/semantics.md. */
export type NodeKind = 'block' | 'loop' | 'parallel';

/** The way in which a runtime executes the node. */
export type BlockClass = 'inline' | 'compute' | 'effect' | 'wait' | 'pause' | 'child';

/** A block or container in the control flow: ports, policies and counts, but no data. */
export interface Node {
  /** Block id. Public data identifies blocks by id, never by index. */
  id: string;
  kind: NodeKind;
  class: BlockClass;
  /** In-edges, deduplicated. */
  ins: { from: number; port: string }[];
  /** Targets of the out-edges, in edge order, deduplicated. */
  outs: number[];
  /** True if an edge leaves by the `error` port, so that failures are handled. */
  handlesError: boolean;
  /**
   * True if the block's output may become the run's output: it has no out-edges except `error` edges. Top region only.
   */
  terminal?: boolean;
  /** True if the run has its response when this block completes (Response). */
  answers?: boolean;
  retry?: RetryPolicy;
  /** Maximum duration of one attempt in milliseconds. */
  timeoutMs?: number;
  /** Containers only. */
  subflow?: Subflow;
}

/** The policy for retries of a failed block. */
export interface RetryPolicy {
  maxTries: number;
  waitMs: number;
  /** Factor by which the wait grows with each attempt; 1 keeps it constant. */
  backoff: number;
  maxWaitMs: number;
  /** Maximum fraction of the wait, 0 to 1, that the driver's random jitter removes. */
  jitter: number;
}

/**
 * The source of a container's iterations or branches.
 *
 * A `count` known at compile time needs no command. With `perTurn`, the container sends `expand` before every iteration
 * (`while`); with `firstFree`, before every iteration except the first (`doWhile`).
 */
export interface Subflow {
  body: Region;
  count?: number;
  perTurn?: boolean;
  firstFree?: boolean;
  /** Parallels: maximum number of open branches; absent: no maximum. */
  window?: number;
  /** Parallels: a failed branch becomes its own result and the others continue. */
  collectErrors?: boolean;
  /** Maximum number of iterations or branches; beyond it the container fails. */
  limit: number;
}

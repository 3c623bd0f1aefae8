/** Version of the machine's rules. A change that alters what a recorded run does raises it. */
export const MACHINE_VERSION = 1;

/**
 * One activation's worth of control flow: a DAG of densely indexed nodes.
 *
 * Index order is topological with ties by block id, so it does not depend on JSON key order.
 */
export interface Region {
  nodes: Node[];
  /** Indexes of the nodes without in-edges, in the order in which they start (order of the edges from the container, then index). */
  entries: number[];
}

/** How a node is worked off; see docs/semantics.md. */
export type NodeKind = 'block' | 'loop' | 'parallel';

/** How a runtime runs the node's work. */
export type BlockClass = 'inline' | 'compute' | 'effect' | 'wait' | 'pause' | 'child';

/** A block or container in the control flow: ports, policies and counts, no data. */
export interface Node {
  /** Block id: public data name blocks by it, never by index. */
  id: string;
  kind: NodeKind;
  class: BlockClass;
  /** In-edges, deduplicated. */
  ins: { from: number; port: string }[];
  /** Targets of the out-edges, in edge order, deduplicated. */
  outs: number[];
  /** True: an edge leaves by the `error` port, so a failure is handled. */
  handlesError: boolean;
  /** True: the block's output may become the run's: no out-edge but unused `error` edges. Top region only. */
  terminal?: boolean;
  /** True: the run is answered when this block has completed (Response). */
  answers?: boolean;
  retry?: RetryPolicy;
  /** Milliseconds one attempt may take. */
  timeoutMs?: number;
  /** Containers only. */
  subflow?: Subflow;
}

/** When a block is tried again. */
export interface RetryPolicy {
  maxTries: number;
  waitMs: number;
  /** Factor by which the wait grows from try to try; 1 keeps it. */
  backoff: number;
  maxWaitMs: number;
  /** Fraction of the wait, 0 to 1, that is drawn at random by the driver's event. */
  jitter: number;
}

/**
 * How a container gets its turns or branches.
 *
 * `count` known at compile time costs no command. `perTurn` asks before every turn (`while`), or before every turn
 * but the first (`doWhile`: `firstFree`).
 */
export interface Subflow {
  body: Region;
  count?: number;
  perTurn?: boolean;
  firstFree?: boolean;
  /** Parallels: branches that may be open at once; absent: all. */
  window?: number;
  /** Parallels: a failed branch becomes its own result and the others go on. */
  collectErrors?: boolean;
  /** Turns or branches beyond which the container fails. */
  limit: number;
}

import type { Json, JsonObject } from '../json.ts';

/** A workflow as it was authored: what is left of an exported file once everything that only an editor needs is gone. */
export interface Workflow {
  id: string;
  name: string;
  description?: string;
  /** `heddle`: the graph was made for this engine (`metadata.engine`), so the wider limits apply; `import`: it was exported elsewhere. */
  dialect: 'import' | 'heddle';
  /** In the order of the file. */
  blocks: Block[];
  /** In the order of the file: it decides the order of starts. */
  edges: Edge[];
  variables: Variable[];
  /** Stored `loops` and `parallels` entries: projections of container blocks, used where the blocks say nothing. */
  stored: StoredContainer[];
}

export interface Block {
  id: string;
  type: string;
  name: string;
  enabled: boolean;
  /** True: the block acts as a trigger. */
  trigger: boolean;
  /** Id of the container that it says it stands in. */
  parentId?: string;
  /** Values of the sub-blocks by their id; null: empty. */
  fields: JsonObject;
  /** What a container says about its turns or branches: the keys of CONTAINER_KEYS. */
  container: JsonObject;
  /** Declared outputs, in any of the shapes that exports have. */
  outputs: JsonObject;
  /** `{enabled, maxTries, …}` as stored. */
  retry?: Json;
  /** Milliseconds one attempt may take, as stored. */
  timeoutMs?: Json;
}

export interface Edge {
  source: string;
  target: string;
  /** The port it leaves by, as stored; absent: the normal exit. */
  port?: string;
}

export const VARIABLE_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'plain'] as const;

export interface Variable {
  id: string;
  name: string;
  type: (typeof VARIABLE_TYPES)[number];
  /** As stored: coerced when the workflow is compiled. */
  value: Json;
}

export interface StoredContainer {
  id: string;
  kind: 'loop' | 'parallel';
  /** Ids of the blocks directly inside. */
  nodes: string[];
  /** In the words of CONTAINER_KEYS. */
  container: JsonObject;
}

/** Keys of a container block's data that say how it runs. */
export const CONTAINER_KEYS = [
  'loopType',
  'count',
  'collection',
  'whileCondition',
  'doWhileCondition',
  'parallelType',
  'batchSize',
  'onBranchError',
] as const;

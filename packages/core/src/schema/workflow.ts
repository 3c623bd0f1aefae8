import type { Json, JsonObject } from '../json.ts';

/** A workflow as authored: an exported file without the data that only an editor needs. */
export interface Workflow {
  id: string;
  name: string;
  description?: string;
  /**
   * `heddle`: the workflow was written for Heddle (`metadata.engine`), so wider limits apply; `import`: it was exported
   * by another program.
   */
  dialect: 'import' | 'heddle';
  /** In the order of the file. */
  blocks: Block[];
  /** In the order of the file, which determines the order in which blocks start. */
  edges: Edge[];
  variables: Variable[];
  /**
   * Stored `loops` and `parallels` entries: copies of the settings of container blocks, used only for settings that the
   * blocks do not have.
   */
  storedContainers: StoredContainer[];
}

export interface Block {
  id: string;
  type: string;
  name: string;
  enabled: boolean;
  /** True if the block acts as a trigger. */
  trigger: boolean;
  /** Id of its container, according to the block. */
  parentId?: string;
  /** Values of the sub-blocks by id; null: empty. */
  fields: JsonObject;
  /** Iteration or branch settings of a container: the keys of CONTAINER_KEYS. */
  containerSettings: JsonObject;
  /** Declared outputs, in any exported form. */
  outputs: JsonObject;
  /** `{enabled, maxTries, …}` as stored. */
  retry?: Json;
  /** Maximum duration of one attempt in milliseconds, as stored. */
  timeoutMs?: Json;
}

export interface Edge {
  source: string;
  target: string;
  /** The port by which the edge leaves its source, as stored; absent: the normal exit. */
  port?: string;
}

export const VARIABLE_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'plain'] as const;

export interface Variable {
  id: string;
  name: string;
  type: (typeof VARIABLE_TYPES)[number];
  /** As stored. The compiler coerces it. */
  value: Json;
}

export interface StoredContainer {
  id: string;
  kind: 'loop' | 'parallel';
  /** Ids of the blocks directly inside. */
  nodes: string[];
  /** With the keys of CONTAINER_KEYS. */
  settings: JsonObject;
}

/** Keys of a container block's data that determine how it runs. */
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

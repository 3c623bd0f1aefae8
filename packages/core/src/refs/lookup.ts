import type { Json } from '../json.ts';
import type { OutputSchema } from '../plan/plan.ts';
import type { Reference } from './template.ts';

export type BlockReference = Extract<Reference, { kind: 'block' }>;
export type ContainerReference = Extract<Reference, { kind: 'container' }>;
export type ResultsReference = Extract<Reference, { kind: 'results' }>;

/** Looks up the values of references at one place of a run. */
export interface Lookup {
  /** Returns the latest output that `ref` addresses. A failed block or container has an output with `error`. */
  block(ref: BlockReference): { ran: true; output: Json } | { ran: false };
  /** Returns the values of the container's iteration or branch around the reading block; undefined outside of it. */
  container(ref: ContainerReference): ContainerValues | undefined;
  /** Returns the results of a container; undefined if it has not ended. */
  results(ref: ResultsReference): Json | undefined;
  /** Returns the value of a variable by id. */
  variable(id: string): Json | undefined;
  /** Returns an environment value or secret; undefined for an unknown name. */
  env(name: string): string | undefined;
  /** Returns the name, the type and the declared outputs of a block. */
  describe(blockId: string): { name: string; type: string; outputs?: OutputSchema };
}

/**
 * The values of `<loop.…>` or `<parallel.…>`. `index` counts from 0. `items` and `currentItem` exist if the container
 * runs over a collection.
 */
export interface ContainerValues {
  index: number;
  currentItem?: Json;
  items?: Json[];
}

import type { Json } from '../json.ts';
import type { OutputSchema } from '../plan/plan.ts';
import type { Reference } from './template.ts';

export type BlockReference = Extract<Reference, { kind: 'block' }>;
export type ContainerReference = Extract<Reference, { kind: 'container' }>;
export type ResultsReference = Extract<Reference, { kind: 'results' }>;

/** The values a run has at one place: what references are resolved against. */
export interface Lookup {
  /** The current output of a block at the address; a block or container that failed has an output with `error`. */
  block(ref: BlockReference): { ran: true; output: Json } | { ran: false };
  /** The turn or branch the reader stands in; undefined: the container is not running around the reader. */
  container(ref: ContainerReference): ContainerValues | undefined;
  /** The results of a container; undefined: it has not ended. */
  results(ref: ResultsReference): Json | undefined;
  /** The value of a variable, by id. */
  variable(id: string): Json | undefined;
  /** An environment value or secret; undefined: there is none of that name. */
  env(name: string): string | undefined;
  describe(blockId: string): { name: string; type: string; outputs?: OutputSchema };
}

/** `index` counts from 0. `items` and `currentItem` are there when the container goes over a collection. */
export interface ContainerValues {
  index: number;
  currentItem?: Json;
  items?: Json[];
}

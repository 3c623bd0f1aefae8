import type { JsonObject } from '../../packages/core/src/json.ts';
import { code, start } from '../support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../support/workflow-file.ts';

/** A kind of workflow, of any size `n`. */
export interface Shape {
  title: string;
  /** The `n` at which searches with a limit have reached this limit. */
  size?: number;
  /** Returns the workflow with `n` elements of one kind, such as blocks, edges or references. */
  make(n: number): WorkflowSettings;
}

type Blocks = { [id: string]: BlockSettings };

/** Returns the id of a block. */
export const idOf = (index: number): string => `b${String(index).padStart(6, '0')}`;

/** Returns `n` values. */
export function listOf<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}

/** Returns `n` blocks with their ids. */
export function blocksOf(n: number, make: (index: number) => BlockSettings): Blocks {
  return Object.fromEntries(listOf(n, (index) => [idOf(index), make(index)]));
}

/** Returns the edges of a chain that consists of the start and `n` blocks. */
export const chainEdges = (n: number): string[] => [
  's > b000000',
  ...listOf(n - 1, (index) => `${idOf(index)} > ${idOf(index + 1)}`),
];

/** Returns a chain of three blocks: a start, a block named "Fetch", and a block with these fields. */
export function workflowWith(fields: JsonObject, properties: BlockSettings = {}): WorkflowSettings {
  return {
    blocks: {
      s: start(),
      f: code('return 1', { name: 'Fetch' }),
      r: { type: 'response', fields, ...properties },
    },
    edges: ['s > f', 'f > r'],
  };
}

/** Returns `n` texts, separated by spaces. */
export const repeat = (n: number, textAt: (index: number) => string): string => listOf(n, textAt).join(' ');

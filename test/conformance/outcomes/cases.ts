import { readFileSync } from 'node:fs';
import type { Json } from '@heddle/core';

/** A block that ran, in a recorded outcome: one entry for each run of it, a container's when it ends. */
export interface RanBlock {
  name: string;
  type: string;
  success: boolean;
  errorHandled?: boolean;
  output?: Json;
  error?: Json;
  tries?: number;
  /** Containers around it, outermost first, with its turn or branch. */
  in?: { kind: 'loop' | 'parallel'; id: string; i?: number }[];
}

export interface OutcomeCase {
  id: string;
  title: string;
  compare: 'full' | 'unordered';
  workflow: Json;
  input: Json;
  env?: { [name: string]: string };
  decision?: number;
  /** What Heddle gives where a decision differs. */
  heddle?: { success?: boolean; output?: Json; invalid?: boolean };
  outcome: {
    success: boolean;
    output?: Json;
    error?: Json;
    errorBlock?: string;
    beforeRun?: boolean;
    blocks: RanBlock[];
  };
}

/** Small workflows with what running them must give; `about` in the file says how to read it. */
export function outcomeCases(): OutcomeCase[] {
  const file = new URL('cases.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: OutcomeCase[] }).cases;
}

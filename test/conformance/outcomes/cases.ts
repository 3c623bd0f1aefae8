import { readFileSync } from 'node:fs';
import type { Json } from '@heddle/core';

/** An execution of a block in a recorded outcome. A container is recorded when it ends. */
export interface RecordedBlock {
  name: string;
  type: string;
  success: boolean;
  errorHandled?: boolean;
  output?: Json;
  error?: Json;
  tries?: number;
  /** Containers around it, outermost first, each with its iteration or branch. */
  in?: { kind: 'loop' | 'parallel'; id: string; i?: number }[];
}

/** A workflow with the outcome that another engine recorded. */
export interface OutcomeCase {
  id: string;
  title: string;
  compare: 'full' | 'unordered';
  workflow: Json;
  input: Json;
  env?: { [name: string]: string };
  decision?: number;
  /** Heddle's result if it deliberately differs from the record. */
  heddle?: { success?: boolean; output?: Json; invalid?: boolean };
  outcome: {
    success: boolean;
    output?: Json;
    error?: Json;
    errorBlock?: string;
    beforeRun?: boolean;
    blocks: RecordedBlock[];
  };
}

/** Returns the recorded cases. `about` in the file explains their format. */
export function readOutcomeCases(): OutcomeCase[] {
  const file = new URL('cases.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: OutcomeCase[] }).cases;
}

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../packages/core/src/json.ts';
import { parseWorkflow, parseWorkflowText } from '../../packages/core/src/schema/parse.ts';
import { pickByScale } from '../support/scale.ts';
import { applyTextEdits, textEdits, mutate, mutation } from './mutation.ts';
import { checkAndCompile } from './check-and-compile.ts';
import type { Outcome } from './check-and-compile.ts';

/** Returns the exported workflows of the repository (fixtures and examples) as JSON strings. */
function readExportedWorkflows(): string[] {
  const folders = ['../fixtures/exported/', '../../examples/', '../../examples/child-workflow/'];
  const contents = folders.flatMap((folder) => {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    return readdirSync(path)
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFileSync(path + name, 'utf8'));
  });
  // These folders also contain inputs and mocks.
  return contents.filter((text) => text.includes('"blocks"') && text.includes('"edges"'));
}

const texts = readExportedWorkflows();
const text = fc.constantFrom(...texts);

describe('an exported workflow', () => {
  it('compiles unchanged', () => {
    expect(texts.length).toBeGreaterThan(5);
    for (const workflowText of texts)
      expect(checkAndCompile(parseWorkflowText(workflowText))).toBe('compiled');
  });

  const timeout = pickByScale(120_000, 600_000);
  it('with up to four changes is parsed, checked and compiled without an exception', { timeout }, () => {
    const counts: Record<Outcome, number> = { 'not parsed': 0, 'not compiled': 0, compiled: 0 };
    const mutationLists = fc.array(mutation, { minLength: 1, maxLength: 4 });
    const numRuns = pickByScale(800, 100_000);
    fc.assert(
      fc.property(text, mutationLists, (original, mutations) => {
        const input = JSON.parse(original) as Json;
        for (const change of mutations) mutate(input, change);
        counts[checkAndCompile(parseWorkflow(input))]++;
      }),
      { numRuns },
    );
    // Some changes must be fatal, others harmless. The rarest outcome is about 3 % of all, and varies in a quick run.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(numRuns / 200);
  });

  it('with up to three edits of its text is parsed, checked and compiled without an exception', () => {
    fc.assert(
      fc.property(text, textEdits, (original, edits) => {
        checkAndCompile(parseWorkflowText(applyTextEdits(original, edits)));
      }),
      { numRuns: pickByScale(400, 40_000) },
    );
  });
});

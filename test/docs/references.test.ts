import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeIn, fencesOf, readPage, tablesOf } from './markdown.ts';
import { CONTEXTS, echo, ENV, fail, workflowWith } from './reference-workflow.ts';

const PAGE = 'docs/references.md';
const text = readPage(PAGE);
const input = JSON.parse(
  fencesOf(PAGE, text).find(({ marks }) => marks.has('input'))?.text ?? 'null',
) as Json;

interface Row {
  at: string;
  context: string;
  fieldText: string;
  /** The documented result: JSON, `fails CODE` or `refused`. */
  result: string;
  /** The diagnostic codes in the last column. */
  codes: string[];
}

const rows = tablesOf(PAGE, text)
  .filter(({ name }) => name.startsWith('examples: '))
  .flatMap(({ name, rows: tableRows }) =>
    tableRows.map((row) => readRow(name.slice('examples: '.length), row)),
  );

function readRow(context: string, { at, cells }: { at: string; cells: readonly string[] }): Row {
  const [fieldText = '', result = '', explanation = ''] = cells;
  const codes = [...explanation.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map((match) => match[1] as string);
  return { at, context, fieldText: codeIn(fieldText) ?? '', result: codeIn(result) ?? result, codes };
}

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ env: ENV, blocks: [echo, fail] });
});

afterAll(() => engine.close());

/** Returns the diagnostic codes of the block that reads the reference. */
function codesOf(diagnostics: readonly Diagnostic[]): string[] {
  const ofReader = diagnostics.filter(({ blockId }) => blockId === 'Reader' || blockId === 'Rows');
  return [...new Set(ofReader.map(({ code }) => code))];
}

async function runExample({ context, fieldText }: Row): Promise<{ result: string; codes: string[] }> {
  const definition = CONTEXTS[context];
  if (!definition) throw new Error(`The tests have no context "${context}".`);
  const graph = workflowWith(definition, fieldText);
  try {
    const { diagnostics } = await engine.deploy(graph);
    const { blockOutputs, error } = await engine.execute({ workflow: graph }, input, {
      select: [definition.select],
    });
    const value = blockOutputs?.[definition.select] ?? null;
    const result = error
      ? `fails \`${error.code}\``
      : JSON.stringify(definition.summarize ? definition.summarize(value) : value);
    return { result, codes: codesOf(diagnostics) };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    const { diagnostics } = error.details as unknown as { diagnostics: Diagnostic[] };
    return { result: 'refused', codes: codesOf(diagnostics) };
  }
}

describe('the examples of docs/references.md', () => {
  it('are found in every context', () => {
    expect(new Set(rows.map(({ context }) => context))).toEqual(new Set(Object.keys(CONTEXTS)));
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ fieldText }) => fieldText === '')).toEqual([]);
  });

  it.each(rows.map((row) => [row.at, row] as const))('have the result on the page: %s', async (_, row) => {
    const expected =
      row.result.startsWith('fails') || row.result === 'refused'
        ? row.result
        : JSON.stringify(JSON.parse(row.result));
    expect(await runExample(row)).toEqual({ result: expected, codes: row.codes });
  });
});

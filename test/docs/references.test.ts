import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeIn, codeBlocksOf, readPage, tablesOf } from './markdown.ts';
import { CONTEXTS, echoExecutor, ENV, failingExecutor, workflowWith } from './reference-workflow.ts';

const PAGE = 'docs/references.md';
const text = readPage(PAGE);
const input = JSON.parse(
  codeBlocksOf(PAGE, text).find(({ attributes }) => attributes.has('input'))?.text ?? 'null',
) as Json;

interface Row {
  location: string;
  context: string;
  fieldText: string;
  /** The documented result: JSON, `fails CODE` or `rejected`. */
  result: string;
  /** The diagnostic codes in the last column. */
  codes: string[];
}

const rows = tablesOf(PAGE, text)
  .filter(({ name }) => name.startsWith('examples: '))
  .flatMap(({ name, rows: tableRows }) =>
    tableRows.map((row) => readRow(name.slice('examples: '.length), row)),
  );

function readRow(context: string, { location, cells }: { location: string; cells: readonly string[] }): Row {
  const [fieldText = '', result = '', explanation = ''] = cells;
  const codes = [...explanation.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map((match) => match[1] as string);
  return { location, context, fieldText: codeIn(fieldText) ?? '', result: codeIn(result) ?? result, codes };
}

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ env: ENV, blocks: [echoExecutor, failingExecutor] });
});

afterAll(() => engine.close());

/** Returns the diagnostic codes of the block that reads the reference. */
function codesOf(diagnostics: readonly Diagnostic[]): string[] {
  const readerDiagnostics = diagnostics.filter(({ blockId }) => blockId === 'Reader' || blockId === 'Rows');
  return [...new Set(readerDiagnostics.map(({ code }) => code))];
}

async function runExample({ context, fieldText }: Row): Promise<{ result: string; codes: string[] }> {
  const fieldContext = CONTEXTS[context];
  if (!fieldContext) throw new Error(`The tests have no context "${context}".`);
  const definition = workflowWith(fieldContext, fieldText);
  try {
    const { diagnostics } = await engine.deploy(definition);
    const { blockOutputs, error } = await engine.execute({ workflow: definition }, input, {
      select: [fieldContext.outputPath],
    });
    const value = blockOutputs?.[fieldContext.outputPath] ?? null;
    const result = error
      ? `fails \`${error.code}\``
      : JSON.stringify(fieldContext.summarize ? fieldContext.summarize(value) : value);
    return { result, codes: codesOf(diagnostics) };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    const { diagnostics } = error.details as unknown as { diagnostics: Diagnostic[] };
    return { result: 'rejected', codes: codesOf(diagnostics) };
  }
}

describe('the examples of docs/references.md', () => {
  it('are found in every context', () => {
    expect(new Set(rows.map(({ context }) => context))).toEqual(new Set(Object.keys(CONTEXTS)));
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ fieldText }) => fieldText === '')).toEqual([]);
  });

  it.each(rows.map((row) => [row.location, row] as const))(
    'have the result on the page: %s',
    async (_, row) => {
      const expected =
        row.result.startsWith('fails') || row.result === 'rejected'
          ? row.result
          : JSON.stringify(JSON.parse(row.result));
      expect(await runExample(row)).toEqual({ result: expected, codes: row.codes });
    },
  );
});

import { createEngine, isEngineError } from '@heddle/engine';
import type { Deployed, Engine, RunResource } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage } from './markdown.ts';
import type { Example, Fence } from './markdown.ts';

/** Marks of the fences that may follow a workflow on a page. */
const PARTS = ['input', 'mocks', 'resume', 'output', 'fails', 'diagnostics'];

const examples = pages.flatMap((page) => examplesOf(fencesOf(page, readPage(page)), 'workflow', PARTS));

function json(fence: Fence | undefined, fallback: Json): Json {
  return fence === undefined ? fallback : (JSON.parse(fence.text) as Json);
}

function lines(fence: Fence | undefined): string[] {
  return fence === undefined ? [] : fence.text.trim().split('\n');
}

/** Returns a file name for the workflow. The engine derives the workflow's id from it, because the JSON has no id. */
function fileName({ at }: Fence): string {
  return `${at.replaceAll(/\W/g, '-')}.json`;
}

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ env: { API_KEY: 'k-123456' } });
  for (const { main } of examples.filter(({ main: { marks } }) => marks.has('child')))
    await engine.deploy(main.text, { fileName: fileName(main) });
});

afterAll(() => engine.close());

async function deploy({ main }: Example): Promise<{ deployed?: Deployed; codes: string[] }> {
  const options = { fileName: fileName(main), ...(main.marks.has('compat') && { compat: true }) };
  try {
    const deployed = await engine.deploy(main.text, options);
    return { deployed, codes: codesOf(deployed.diagnostics) };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    return { codes: codesOf((error.details as unknown as { diagnostics: Diagnostic[] }).diagnostics) };
  }
}

function codesOf(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ severity, code }) => `${severity} ${code}`);
}

async function run({ workflowId }: Deployed, { parts }: Example): Promise<RunResource> {
  const mocks = parts.get('mocks');
  const first = await engine.execute(
    workflowId,
    json(parts.get('input'), {}),
    mocks ? { mocks: json(mocks, null) } : {},
  );
  const resumeInput = parts.get('resume');
  if (!resumeInput) return first;
  expect(first.status).toBe('paused');
  return engine.resume(first.runId, { input: json(resumeInput, {}) });
}

describe('the workflows of the documentation', () => {
  it('are found', () => {
    expect(examples.length).toBeGreaterThan(14);
    expect(examples.filter(({ parts }) => parts.has('output')).length).toBeGreaterThan(11);
    expect(examples.filter(({ main }) => main.marks.has('refused')).length).toBeGreaterThan(0);
  });

  it.each(examples.map((example) => [example.main.at, example] as const))(
    'have the result on the page: %s',
    async (_, example) => {
      const { main, parts } = example;
      const { deployed, codes } = await deploy(example);
      expect(codes).toEqual(lines(parts.get('diagnostics')));
      expect(deployed === undefined).toBe(main.marks.has('refused'));
      if (!deployed || main.marks.has('child')) return;
      const { status, output, error } = await run(deployed, example);
      const code = parts.get('fails')?.text.trim();
      expect([status, error?.code]).toEqual([code === undefined ? 'completed' : 'failed', code]);
      expect(output).toEqual(json(parts.get('output'), {}));
    },
  );
});

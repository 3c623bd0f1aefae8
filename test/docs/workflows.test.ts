import { createEngine, isEngineError } from '@heddle/engine';
import type { DeployedVersion, Engine, RunResource } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage } from './markdown.ts';
import type { Example, Fence } from './markdown.ts';

/** Attributes of the fences that may follow a workflow on a page. */
const PARTS = ['input', 'mocks', 'resume', 'output', 'fails', 'diagnostics'];

const examples = pages.flatMap((page) => examplesOf(fencesOf(page, readPage(page)), 'workflow', PARTS));

function parseFence(fence: Fence | undefined, fallback: Json): Json {
  return fence === undefined ? fallback : (JSON.parse(fence.text) as Json);
}

function linesOf(fence: Fence | undefined): string[] {
  return fence === undefined ? [] : fence.text.trim().split('\n');
}

/** Returns a file name for the workflow. The engine derives the workflow's id from it, because the JSON has no id. */
function fileNameOf({ location }: Fence): string {
  return `${location.replaceAll(/\W/g, '-')}.json`;
}

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ env: { API_KEY: 'k-123456' } });
  for (const { mainFence } of examples.filter(({ mainFence: { attributes } }) => attributes.has('child')))
    await engine.deploy(mainFence.text, { fileName: fileNameOf(mainFence) });
});

afterAll(() => engine.close());

async function deploy({ mainFence }: Example): Promise<{ deployed?: DeployedVersion; codes: string[] }> {
  const options = {
    fileName: fileNameOf(mainFence),
    ...(mainFence.attributes.has('compat') && { compat: true }),
  };
  try {
    const deployed = await engine.deploy(mainFence.text, options);
    return { deployed, codes: codesOf(deployed.diagnostics) };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    return { codes: codesOf((error.details as unknown as { diagnostics: Diagnostic[] }).diagnostics) };
  }
}

function codesOf(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ severity, code }) => `${severity} ${code}`);
}

async function run({ workflowId }: DeployedVersion, { parts }: Example): Promise<RunResource> {
  const mocks = parts.get('mocks');
  const firstResult = await engine.execute(
    workflowId,
    parseFence(parts.get('input'), {}),
    mocks ? { mocks: parseFence(mocks, null) } : {},
  );
  const resumeInput = parts.get('resume');
  if (!resumeInput) return firstResult;
  expect(firstResult.status).toBe('paused');
  return engine.resume(firstResult.runId, { input: parseFence(resumeInput, {}) });
}

describe('the workflows of the documentation', () => {
  it('are found', () => {
    expect(examples.length).toBeGreaterThan(14);
    expect(examples.filter(({ parts }) => parts.has('output')).length).toBeGreaterThan(11);
    expect(examples.filter(({ mainFence }) => mainFence.attributes.has('refused')).length).toBeGreaterThan(0);
  });

  it.each(examples.map((example) => [example.mainFence.location, example] as const))(
    'have the result on the page: %s',
    async (_, example) => {
      const { mainFence, parts } = example;
      const { deployed, codes } = await deploy(example);
      expect(codes).toEqual(linesOf(parts.get('diagnostics')));
      expect(deployed === undefined).toBe(mainFence.attributes.has('refused'));
      if (!deployed || mainFence.attributes.has('child')) return;
      const { status, output, error } = await run(deployed, example);
      const code = parts.get('fails')?.text.trim();
      expect([status, error?.code]).toEqual([code === undefined ? 'completed' : 'failed', code]);
      expect(output).toEqual(parseFence(parts.get('output'), {}));
    },
  );
});

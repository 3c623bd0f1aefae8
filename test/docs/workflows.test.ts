import { createEngine, isEngineError } from '@heddle/engine';
import type { DeployedVersion, Engine, RunResource } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, codeBlocksOf, pages, readPage } from './markdown.ts';
import type { Example, CodeBlock } from './markdown.ts';

/** Attributes of the code blocks that may follow a workflow on a page. */
const PARTS = ['input', 'mocks', 'resume', 'output', 'fails', 'diagnostics'];

const examples = pages.flatMap((page) => examplesOf(codeBlocksOf(page, readPage(page)), 'workflow', PARTS));

function parseCodeBlock(codeBlock: CodeBlock | undefined, fallback: Json): Json {
  return codeBlock === undefined ? fallback : (JSON.parse(codeBlock.text) as Json);
}

function linesOf(codeBlock: CodeBlock | undefined): string[] {
  return codeBlock === undefined ? [] : codeBlock.text.trim().split('\n');
}

/** Returns a file name for the workflow. The engine derives the workflow's id from it, because the JSON has no id. */
function fileNameOf({ location }: CodeBlock): string {
  return `${location.replaceAll(/\W/g, '-')}.json`;
}

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ env: { API_KEY: 'k-123456' } });
  for (const { mainCodeBlock } of examples.filter(({ mainCodeBlock: { attributes } }) =>
    attributes.has('child'),
  ))
    await engine.deploy(mainCodeBlock.text, { fileName: fileNameOf(mainCodeBlock) });
});

afterAll(() => engine.close());

async function deploy({ mainCodeBlock }: Example): Promise<{ deployed?: DeployedVersion; codes: string[] }> {
  const options = {
    fileName: fileNameOf(mainCodeBlock),
    ...(mainCodeBlock.attributes.has('compat') && { compat: true }),
  };
  try {
    const deployed = await engine.deploy(mainCodeBlock.text, options);
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
    parseCodeBlock(parts.get('input'), {}),
    mocks ? { mocks: parseCodeBlock(mocks, null) } : {},
  );
  const resumeInput = parts.get('resume');
  if (!resumeInput) return firstResult;
  expect(firstResult.status).toBe('paused');
  return engine.resume(firstResult.runId, { input: parseCodeBlock(resumeInput, {}) });
}

describe('the workflows of the documentation', () => {
  it('are found', () => {
    expect(examples.length).toBeGreaterThan(14);
    expect(examples.filter(({ parts }) => parts.has('output')).length).toBeGreaterThan(11);
    expect(
      examples.filter(({ mainCodeBlock }) => mainCodeBlock.attributes.has('refused')).length,
    ).toBeGreaterThan(0);
  });

  it.each(examples.map((example) => [example.mainCodeBlock.location, example] as const))(
    'have the result on the page: %s',
    async (_, example) => {
      const { mainCodeBlock, parts } = example;
      const { deployed, codes } = await deploy(example);
      expect(codes).toEqual(linesOf(parts.get('diagnostics')));
      expect(deployed === undefined).toBe(mainCodeBlock.attributes.has('refused'));
      if (!deployed || mainCodeBlock.attributes.has('child')) return;
      const { status, output, error } = await run(deployed, example);
      const code = parts.get('fails')?.text.trim();
      expect([status, error?.code]).toEqual([code === undefined ? 'completed' : 'failed', code]);
      expect(output).toEqual(parseCodeBlock(parts.get('output'), {}));
    },
  );
});

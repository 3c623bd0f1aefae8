import { createEngine, isEngineError } from '@heddle/engine';
import type { DeployedVersion, Engine, RunResource } from '@heddle/engine';
import type { Diagnostic, Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, codeBlocksOf, pages, readPage } from './markdown.ts';
import type { Example, CodeBlock } from './markdown.ts';

/** Attributes of the code blocks that may follow a workflow on a page. */
const RELATED_ATTRIBUTES = ['input', 'mocks', 'resume', 'output', 'fails', 'diagnostics'];

const examples = pages.flatMap((page) =>
  examplesOf(codeBlocksOf(page, readPage(page)), 'workflow', RELATED_ATTRIBUTES),
);

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

async function deploy({
  mainCodeBlock,
}: Example): Promise<{ deployedVersion?: DeployedVersion; codes: string[] }> {
  const options = {
    fileName: fileNameOf(mainCodeBlock),
    ...(mainCodeBlock.attributes.has('compat') && { compat: true }),
  };
  try {
    const deployedVersion = await engine.deploy(mainCodeBlock.text, options);
    return { deployedVersion, codes: codesOf(deployedVersion.diagnostics) };
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    return { codes: codesOf((error.details as unknown as { diagnostics: Diagnostic[] }).diagnostics) };
  }
}

function codesOf(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ severity, code }) => `${severity} ${code}`);
}

async function run({ workflowId }: DeployedVersion, { relatedCodeBlocks }: Example): Promise<RunResource> {
  const mocks = relatedCodeBlocks.get('mocks');
  const firstResult = await engine.execute(
    workflowId,
    parseCodeBlock(relatedCodeBlocks.get('input'), {}),
    mocks ? { mocks: parseCodeBlock(mocks, null) } : {},
  );
  const resumeInput = relatedCodeBlocks.get('resume');
  if (!resumeInput) return firstResult;
  expect(firstResult.status).toBe('paused');
  return engine.resume(firstResult.runId, { input: parseCodeBlock(resumeInput, {}) });
}

describe('the workflows of the documentation', () => {
  it('are found', () => {
    expect(examples.length).toBeGreaterThan(14);
    expect(
      examples.filter(({ relatedCodeBlocks }) => relatedCodeBlocks.has('output')).length,
    ).toBeGreaterThan(11);
    expect(
      examples.filter(({ mainCodeBlock }) => mainCodeBlock.attributes.has('refused')).length,
    ).toBeGreaterThan(0);
  });

  it.each(examples.map((example) => [example.mainCodeBlock.location, example] as const))(
    'have the result on the page: %s',
    async (_, example) => {
      const { mainCodeBlock, relatedCodeBlocks } = example;
      const { deployedVersion, codes } = await deploy(example);
      expect(codes).toEqual(linesOf(relatedCodeBlocks.get('diagnostics')));
      expect(deployedVersion === undefined).toBe(mainCodeBlock.attributes.has('refused'));
      if (!deployedVersion || mainCodeBlock.attributes.has('child')) return;
      const { status, output, error } = await run(deployedVersion, example);
      const expectedCode = relatedCodeBlocks.get('fails')?.text.trim();
      expect([status, error?.code]).toEqual([
        expectedCode === undefined ? 'completed' : 'failed',
        expectedCode,
      ]);
      expect(output).toEqual(parseCodeBlock(relatedCodeBlocks.get('output'), {}));
    },
  );
});

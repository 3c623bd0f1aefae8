/** The parts of a run that a copied command or test contains. */
export interface CopiedRun {
  workflowId: string;
  name: string;
  input: unknown;
  status: string;
  output: unknown;
  errorCode: string | undefined;
}

/** Returns a shell command that starts a run with the same input. The API key comes from an environment variable. */
export function toCurlCommand(
  { workflowId, input }: Pick<CopiedRun, 'workflowId' | 'input'>,
  baseUrl: string,
): string {
  const url = `${baseUrl}/api/v2/workflows/${encodeURIComponent(workflowId)}/execute`;
  return [
    `curl ${shellQuote(url)}`,
    `  -H "X-API-Key: $HEDDLE_API_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${shellQuote(JSON.stringify({ input }))}`,
  ].join(' \\\n');
}

/** Returns the text in single quotes, within which a shell interprets no character. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the code of a test that runs the exported workflow with the same input and expects the same outcome. */
export function toTestCode({ name, input, status, output, errorCode }: CopiedRun): string {
  const expected = errorCode === undefined ? { status, output } : { status, error: { code: errorCode } };
  return `import { readFileSync } from 'node:fs';
import { createEngine } from '@heddle/engine';
import { expect, it } from 'vitest';

// Export the workflow to this file. Blocks that call other systems need the option "blocks" of createEngine, or mocks.
const workflow = JSON.parse(readFileSync('workflow.json', 'utf8'));

it(${JSON.stringify(`${name} ends as ${status}`)}, async () => {
  const engine = await createEngine();
  try {
    const run = await engine.execute({ workflow }, ${toJsonCode(input)});
    expect(run).toMatchObject(${toJsonCode(expected)});
  } finally {
    await engine.close();
  }
});
`;
}

/** Returns a value as code, indented for its place in the test. */
function toJsonCode(value: unknown): string {
  return JSON.stringify(value ?? null, null, 2).replaceAll('\n', '\n    ');
}

import { describe, expect, it } from 'vitest';
import { runHeddle } from '../support/heddle.ts';
import { start, workflowFile } from '../support/workflow-file.ts';
import { createSandboxFolder, SPEC } from './sandbox-folder.ts';

const GREET_WORKFLOW = workflowFile({
  blocks: {
    s: start(),
    greet: {
      type: 'function',
      name: 'Greet',
      fields: {
        code: 'import { greet } from "greeter";\nreturn greet(<start.name>);',
        sandboxId: 'greetings',
      },
    },
  },
  edges: ['s > greet'],
});

describe('heddle run of a workflow whose block names an image', () => {
  it('uses the image from heddle sandbox build, and suggests this command if the image is missing', async () => {
    const { cwd, runSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(SPEC),
      'flow.json': JSON.stringify(GREET_WORKFLOW),
    });
    const run = () => runHeddle(['run', 'flow.json', '--input', '{"name": "you"}', '--json'], { cwd });
    const missingImageResult = JSON.parse((await run()).stdout) as { data: { error: { message: string } } };
    expect(missingImageResult.data.error.message).toMatch(
      /There is no image "greetings" in .*images. Build it with heddle sandbox build SPEC/,
    );
    await runSandbox('build', 'spec.json');
    const result = await run();
    expect(result.exitCode).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({
      data: { status: 'completed', output: { result: 'Hello you!' } },
    });
  });
});

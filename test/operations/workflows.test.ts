import { beforeAll, describe, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { expectLinear } from './linear.ts';
import { SHAPES, workflowFileText } from './shapes.ts';

let check: (text: string) => void;

beforeAll(async () => {
  const { checkWorkflow, parseWorkflowText } = await import('@heddle/core');
  check = (text) => {
    const { workflow } = parseWorkflowText(text);
    if (workflow) checkWorkflow(workflow, { compat: true });
  };
});

describe('parsing, checking and compiling a workflow takes time at most proportional to its size', () => {
  it.each(sample(SHAPES, 6, 'shapes of workflows'))('with $title', async ({ make, size = 300 }) => {
    await expectLinear({ size, make: (n) => workflowFileText(make(n)), run: check });
  });
});

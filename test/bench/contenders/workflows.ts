import type { Json } from '@heddle/core';
import { block, loop, workflow } from '../../support/workflow.ts';

const stepBlock = (name: string): ReturnType<typeof block> => block(name, 'step');

function stepNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `S${i + 1}`);
}

/** Returns a workflow with a start block and a chain of `size` steps. */
export function chainOf(size: number): Json {
  return workflow(stepNames(size).map(stepBlock), [['Start', ...stepNames(size)].join(' -> ')]);
}

/** Returns a workflow with a start block and a loop that runs one step `count` times. */
export function loopOf(count: number): Json {
  return workflow(
    [loop('Iterations', { loopType: 'for', count }, stepBlock('Step'))],
    ['Start -> Iterations', 'Iterations -> Step'],
  );
}

/** Returns a workflow with a start block, `width` parallel steps, and a step that joins them. */
export function fanOutOf(width: number): Json {
  return workflow(
    [...stepNames(width).map(stepBlock), stepBlock('Join')],
    stepNames(width).map((name) => `Start -> ${name} -> Join`),
  );
}

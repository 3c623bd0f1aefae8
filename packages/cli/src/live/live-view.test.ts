import { compile, parseWorkflow } from '@heddle/core';
import type { BlockLog, Json, Plan } from '@heddle/core';
import type { RunEvent } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { RecordingStream } from '../../../../test/support/io.ts';
import { code, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import { styleFor } from '../render/style.ts';
import { isMilestone, LiveView } from './live-view.ts';
import { createTerminalOutput } from './terminal-output.ts';

function examplePlan(): Plan {
  const file = workflowFile({
    blocks: {
      s: start(),
      each: { type: 'loop', name: 'Each', data: { loopType: 'for', count: 30 } },
      work: code('return 1', { name: 'Work', parentId: 'each' }),
      fan: {
        type: 'parallel',
        name: 'Fan',
        data: { parallelType: 'count', count: 2, onBranchError: 'collect' },
      },
      ask: code('return 2', { name: 'Ask', parentId: 'fan' }),
      end: code('return 3', { name: 'The End' }),
    },
    edges: [
      's > each',
      'each:loop-start-source > work',
      'each > fan',
      'fan:parallel-start-source > ask',
      'fan > end',
    ],
  });
  const { workflow } = parseWorkflow(file);
  const compileResult = workflow && compile(workflow);
  if (!compileResult?.ok) throw new Error(JSON.stringify(compileResult));
  return compileResult.plan;
}

let lastOrder = 0;

function logOf(blockId: string, overrides: Partial<BlockLog> = {}): BlockLog {
  const plan = examplePlan();
  const block = plan.blocks[blockId]!;
  const [container] = block.containers;
  return {
    runId: 'r',
    blockId,
    blockName: block.name,
    blockType: block.type,
    executionOrder: ++lastOrder,
    status: 'completed',
    startedMs: 0,
    endedMs: 12,
    durationMs: 12,
    errorHandled: false,
    tries: 1,
    input: undefined,
    output: undefined,
    error: undefined,
    container:
      container === undefined
        ? undefined
        : { kind: plan.blocks[container]!.type as 'loop', blockId: container, index: 1 },
    parents: [],
    ...overrides,
  };
}

const EVENT_TYPES = {
  running: 'block:started',
  paused: 'block:paused',
  completed: 'block:completed',
  failed: 'block:failed',
  cancelled: 'block:cancelled',
} as const;

function eventOf(log: BlockLog, output: Json = null): RunEvent {
  return { type: EVENT_TYPES[log.status], runId: 'r', atMs: 0, log, output };
}

function iterationEvent(blockId: string, number: number, count: number): RunEvent {
  return {
    type: 'container:iteration',
    runId: 'r',
    atMs: 0,
    blockId,
    blockName: examplePlan().blocks[blockId]!.name,
    iteration: number,
    count,
  };
}

interface ViewFixture {
  view: LiveView;
  stream: RecordingStream;
  tick: (nowMs: number) => void;
  lines: () => string[];
}

function createViewFixture(hasStatusLine = false): ViewFixture {
  const stream = new RecordingStream(hasStatusLine);
  let nowMs = 0;
  let callTick = (): void => undefined;
  const view = new LiveView({
    plan: examplePlan(),
    mockedIds: new Set(['s']),
    terminal: createTerminalOutput(stream, hasStatusLine),
    style: styleFor(new RecordingStream()),
    hasStatusLine,
    now: () => nowMs,
    repeat: (_, tick) => {
      callTick = tick;
      return () => {
        callTick = () => undefined;
      };
    },
  });
  return {
    view,
    stream,
    tick: (ms) => {
      nowMs = ms;
      callTick();
    },
    lines: () => stream.text.split('\n').filter((line) => line !== ''),
  };
}

const failure = { code: 'BLOCK_FAILED', message: 'no\nmore', retryable: true };

describe('the live view without a terminal', () => {
  it('prints a line for each block outside containers, with its duration and notes', () => {
    const { view, lines } = createViewFixture();
    view.accept(eventOf(logOf('s')));
    view.accept(eventOf(logOf('each', { durationMs: 2300 }), { results: [[], [], []] }));
    view.accept(eventOf(logOf('end', { tries: 2 })));
    expect(lines()).toEqual([
      '✓ Start         12 ms  mocked',
      '✓ Each          2.3 s  3 iterations',
      '✓ The End       12 ms  2 attempts',
    ]);
    expect(view.endedBlockCount).toBe(3);
  });

  it('counts the iterations of a loop in growing steps, without lines for the blocks inside', () => {
    const { view, lines } = createViewFixture();
    for (let number = 0; number < 30; number++) {
      view.accept(iterationEvent('each', number, 30));
      view.accept(eventOf(logOf('work')));
    }
    expect(lines()).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `· Each ${index + 1}/30`),
      '· Each 20/30',
      '· Each 30/30',
    ]);
  });

  it('shows the output of a block in a container, with its path', () => {
    const { view, lines } = createViewFixture();
    view.accept(eventOf(logOf('work'), { result: 1, stdout: 'one\ntwo' }));
    expect(lines()).toEqual(['✓ Each 2 › Work      12 ms', '    │ one', '    │ two']);
  });

  it('truncates the printed output of a block after twenty lines', () => {
    const { view, lines } = createViewFixture();
    view.accept(eventOf(logOf('end'), { result: 1, stdout: 'x\n'.repeat(23) }));
    expect(lines()).toHaveLength(22);
    expect(lines().at(-1)).toBe('    │ … 4 more lines');
  });

  it('distinguishes failures that end the run, are handled, or are collected', () => {
    const { view, lines } = createViewFixture();
    view.accept(eventOf(logOf('end', { status: 'failed', error: failure })));
    view.accept(eventOf(logOf('end', { status: 'failed', error: failure, errorHandled: true })));
    view.accept(eventOf(logOf('ask', { status: 'failed', error: failure })));
    expect(lines()).toEqual([
      '✗ The End       12 ms  failed',
      '! The End       12 ms  failed; continues at its error port',
      '    no',
      '    more',
      '! Fan 2 › Ask      12 ms  failed; collected',
      '    no',
      '    more',
    ]);
  });

  it('shows waits for a person, waits until a time, and retries', () => {
    const { view, lines } = createViewFixture();
    view.accept(eventOf(logOf('end', { status: 'paused' }), {}));
    view.accept(
      eventOf(logOf('end', { status: 'paused' }), { resumeAt: new Date(2001, 1, 3, 4, 5, 6).toISOString() }),
    );
    view.accept({
      type: 'block:retrying',
      runId: 'r',
      atMs: 0,
      blockId: 'end',
      blockName: 'The End',
      scope: [],
      attempt: 2,
      dueMs: 1500,
    });
    expect(lines()).toEqual([
      '‖ The End              waits for a person',
      '‖ The End              waits until 2001-02-03 04:05:06',
      '↻ The End  attempt 1 failed, next in 1.5 s',
    ]);
  });

  it('ignores a repeated event', () => {
    const { view, lines } = createViewFixture();
    const log = logOf('end');
    view.accept(eventOf(log));
    view.accept(eventOf(log));
    view.accept(eventOf({ ...log, status: 'running' }));
    expect(lines()).toHaveLength(1);
    expect(view.endedBlockCount).toBe(1);
  });

  it('reports a slow block once', () => {
    const { view, lines, tick } = createViewFixture();
    view.accept(eventOf(logOf('end', { status: 'running', startedMs: 1000 })));
    tick(2900);
    expect(lines()).toEqual([]);
    tick(3000);
    tick(4000);
    expect(lines()).toEqual(['… The End is still running']);
  });
});

describe('the live view on a terminal', () => {
  const CLEAR_LINE = '\r\u001B[2K';

  function lastLine({ stream }: ViewFixture): string {
    return stream.text
      .split(CLEAR_LINE)
      .at(-1)!
      .replaceAll(/\u001B\[\?7[lh]/g, '');
  }

  it('shows running blocks in one line, with counters', () => {
    const fixture = createViewFixture(true);
    fixture.view.accept(iterationEvent('each', 3, 30));
    fixture.view.accept(eventOf(logOf('work', { status: 'running' })));
    fixture.view.accept(eventOf(logOf('work', { status: 'running' })));
    fixture.view.accept(eventOf(logOf('end', { status: 'running' })));
    fixture.tick(1500);
    expect(lastLine(fixture)).toBe('⠙ Each 4/30 › Work ×2  +1  1.5 s');
  });

  it('counts iterations in the status line, without lines for them', () => {
    const fixture = createViewFixture(true);
    fixture.view.accept(iterationEvent('each', 0, 30));
    expect(fixture.stream.text).toBe('');
  });

  it('shows waits until a time in the status line', () => {
    const fixture = createViewFixture(true);
    const resumeAt = new Date(2001, 1, 3, 4, 5, 6).toISOString();
    fixture.view.accept(eventOf(logOf('end', { status: 'paused' }), { resumeAt }));
    fixture.tick(100);
    expect(lastLine(fixture)).toBe('⠙ The End (until 2001-02-03 04:05:06)  100 ms');
  });

  it('removes the status line on close', () => {
    const fixture = createViewFixture(true);
    fixture.view.accept(eventOf(logOf('end', { status: 'running' })));
    fixture.tick(100);
    fixture.view.close();
    fixture.tick(200);
    expect(lastLine(fixture)).toBe('');
  });
});

describe('milestones', () => {
  it('are all numbers up to ten, then every tenth, then every hundredth, and the last', () => {
    const numbers = Array.from({ length: 1234 }, (_, index) => index + 1).filter((number) =>
      isMilestone(number, 1234),
    );
    expect(numbers).toHaveLength(10 + 9 + 9 + 1);
    expect(numbers.slice(9, 12)).toEqual([10, 20, 30]);
    expect(numbers.at(-1)).toBe(1234);
  });
});

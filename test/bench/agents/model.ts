import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expectResult } from '../workload.ts';
import type { TimedWorkload } from '../workload.ts';

const PROGRAM = fileURLToPath(new URL('model-process.ts', import.meta.url));

export const QUESTION = 'Count.';
export const ANSWER = 'Done.';

/** The tool that the model calls in each round. */
export const COUNT_TOOL = {
  name: 'count',
  description: 'Counts.',
  parameters: {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  },
};

/** The result of an agent's run: its answer and its number of tool calls. */
export interface AgentRun {
  text: string;
  callCount: number;
}

/** Returns a workload: a run of an agent. Its model, in another process, calls the tool in each of `rounds` rounds. */
export async function openAgentWorkload(
  rounds: number,
  open: (url: string) => Promise<{ ask(): Promise<AgentRun>; close?(): Promise<void> | void }>,
): Promise<TimedWorkload> {
  const child = fork(PROGRAM, [String(rounds)], {
    execArgv: ['--conditions=@heddle/source', '--no-warnings'],
  });
  const [url] = (await once(child, 'message')) as [string];
  const agent = await open(url);
  return {
    async runOnce() {
      const { text, callCount } = await agent.ask();
      expectResult(text, ANSWER);
      expectResult(callCount, rounds);
    },
    async close() {
      await agent.close?.();
      child.disconnect();
    },
  };
}

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BlocksOptions } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import type { WorkerOptions } from '@heddle/temporal';
import { expect, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const PROGRAMS = {
  counting: fileURLToPath(new URL('agent-process.ts', import.meta.url)),
  paying: fileURLToPath(new URL('payment-process.ts', import.meta.url)),
  notifying: fileURLToPath(new URL('notification-process.ts', import.meta.url)),
};

/** Options of a process: what it does, and the options of its engine or worker. */
export interface AgentProcessOptions {
  engine?: Pick<EngineOptions, 'data' | 'postgres' | 'maxCost'>;
  models?: Pick<BlocksOptions, 'prices' | 'rateLimits'>;
  worker?: WorkerOptions;
  /** Base URL of the model. */
  url: string;
  /** File to which the process appends its effects: numbers of calls, payments, or URLs. */
  effectsFile: string;
  /** True if the agent counts with a workflow. */
  countsByWorkflow?: boolean;
  /**
   * The printed line after which the process waits to be killed. The comment at the top of each program names the lines
   * that it prints.
   */
  stopPoint?: string;
  /** The question for the agent of `CONVERSATION_WORKFLOW`, which then answers it instead of counting. */
  question?: string;
}

/** An agent that counts to four with a tool. */
export const COUNTING_WORKFLOW = workflow(
  [
    block('A', 'agent', {
      model: 'local/scripted',
      messages: [{ role: 'user', content: 'Count to four.' }],
      tools: [{ type: 'count' }],
    }),
  ],
  ['Start -> A'],
  { id: 'counting' },
);

/** An agent that makes one payment, which a person approves. */
export const PAYMENT_WORKFLOW = workflow(
  [
    block('A', 'agent', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Pay Ada.' }],
      tools: [{ type: 'pay', requireApproval: true }],
    }),
  ],
  ['Start -> A'],
  { id: 'paying' },
);

/** A workflow with a pause that sends its URL. */
export const NOTIFICATION_WORKFLOW = workflow(
  [
    block('Approve', 'human_in_the_loop', {
      notification: [{ type: 'tell', title: 'Tell', params: { text: '<approve.url>' } }],
    }),
  ],
  ['Start -> Approve'],
  { id: 'notifying' },
);

/** Expects that the URL in the output of the pause was sent once. */
export function expectOneNotification(output: unknown, effectsFile: string): void {
  expect(output).toMatchObject({
    url: readFileSync(effectsFile, 'utf8').trimEnd(),
    response: { data: { notifications: [{ title: 'Tell', status: 'sent' }] } },
  });
}

/** An agent that remembers its conversation. */
export const CONVERSATION_WORKFLOW = workflow(
  [
    block('A', 'agent', {
      model: 'local/scripted',
      messages: [{ role: 'user', content: '<start.question>' }],
      memoryType: 'conversation',
      conversationId: 'talk',
    }),
  ],
  ['Start -> A'],
  { id: 'remembering' },
);

/**
 * Points between an answer of the model and the end of the agent at which a process is killed. Each has its name, a
 * description, and the number of model calls that the run makes in total.
 */
export const MEMORY_STOP_POINTS = [
  ['answer received', 'before the answer is recorded', 2],
  ['answer recorded', 'before the exchange is in the conversation', 1],
  ['exchange stored', 'before the result of the agent is in the journal', 1],
] as const;

/** Starts a model that numbers its answers. Returns the options of its process, and a check of the conversation. */
export async function startConversationModel() {
  const server = await startModelServer(({ number }) => ({ text: `answer ${number}` }));
  onTestFinished(() => server.close());
  const folder = createDataFolder();
  const readConversation = (): string[] => {
    const messages = server.requests.at(-1)?.body['messages'] as { content: string }[];
    return messages.map(({ content }) => content);
  };
  return {
    folder,
    commonOptions: { url: server.services.local, effectsFile: join(folder, 'effects') },
    /**
     * Expects that the conversation has the exchange once, after the interrupted run ended with `output` and another
     * run asked a second question.
     */
    expectOneExchange: (output: unknown, callCount: number) => {
      expect(output).toMatchObject({ content: `answer ${callCount}` });
      expect(server.requests).toHaveLength(callCount + 1);
      expect(readConversation()).toEqual(['one', `answer ${callCount}`, 'two']);
    },
  };
}

/** An agent that counts to four with a workflow. */
export const COUNTING_BY_WORKFLOW = workflow(
  [
    block('A', 'agent', {
      model: 'local/scripted',
      messages: [{ role: 'user', content: 'Count to four.' }],
      tools: [{ type: 'workflow_input', params: { workflowId: 'counter' } }],
    }),
  ],
  ['Start -> A'],
  { id: 'counting-by-workflow' },
);

/** The workflow that counts. */
export const COUNTER_WORKFLOW = workflow([block('T', 'tally', { n: '<start.n>' })], ['Start -> T'], {
  ...{ id: 'counter', name: 'count' },
  inputFormat: [{ name: 'n', type: 'number' }],
});

/** A started process. */
export interface KillableProcess {
  /** Resolves with the last line when the process has exited. */
  lastLine: Promise<string>;
  /** Closes the stdin of a worker, which then stops. */
  closeStdin(): void;
  /** Kills the process with SIGKILL. */
  kill(): void;
}

/** Starts a process, which is killed with SIGKILL after it prints its `stopPoint`, or after the test. */
export function startProcess(
  options: AgentProcessOptions,
  program: keyof typeof PROGRAMS = 'counting',
): KillableProcess {
  const args = ['--conditions=@heddle/source', PROGRAMS[program], JSON.stringify(options)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closePromise = new Promise((resolve) => child.on('close', resolve));
  const readLastLine = async (): Promise<string> => {
    let lastLine = '';
    for await (const line of createInterface({ input: child.stdout })) {
      lastLine = line;
      if (line === options.stopPoint) child.kill('SIGKILL');
    }
    await closePromise;
    return lastLine;
  };
  return {
    lastLine: readLastLine(),
    closeStdin: () => void child.stdin.end(),
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Starts a model that calls `count` with 1 to 4. Returns the options of its process, and a check of the output. */
export async function startCountingModel() {
  const server = await startModelServer(({ body }) => {
    const resultCount = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'tool').length;
    return resultCount === 4
      ? { text: 'Done.' }
      : { toolCalls: [{ name: 'count', args: { n: resultCount + 1 } }] };
  });
  onTestFinished(() => server.close());
  const folder = createDataFolder();
  const effectsFile = join(folder, 'effects');
  return {
    folder,
    commonOptions: { url: server.services.local, effectsFile },
    countModelCalls: () => server.requests.length,
    /** Expects that only the fourth tool call was repeated. */
    expectOneRepeatedCall: (output: unknown) => {
      expect(output).toMatchObject({ content: 'Done.', tokens: { total: 75 }, toolCalls: { count: 4 } });
      expect(server.requests).toHaveLength(5);
      expect(readFileSync(effectsFile, 'utf8').trim().split('\n')).toEqual(['1', '2', '3', '4', '4']);
    },
  };
}

/** Starts a model that requests one payment. Returns the options of its process, and a check of the output. */
export async function startPayingModel() {
  const server = await startModelServer(({ body }) => {
    const isPaid = JSON.stringify(body).includes('function_call_output');
    return isPaid ? { text: 'Done.' } : { toolCalls: [{ name: 'pay', args: { to: 'ada' } }] };
  });
  onTestFinished(() => server.close());
  const folder = createDataFolder();
  const effectsFile = join(folder, 'effects');
  const approval = { decision: 'approve' };
  return {
    folder,
    commonOptions: { url: server.services.openai, effectsFile },
    /** Expects that the payment was made once. `hasResult`: the agent has its result. */
    expectOnePayment: (output: unknown, hasResult: boolean) => {
      const result = hasResult
        ? { paid: { to: 'ada' } }
        : expect.stringContaining('This call was interrupted');
      expect(output).toMatchObject({
        content: 'Done.',
        toolCalls: { list: [{ arguments: { to: 'ada' }, approval, success: hasResult, result }] },
      });
      expect(server.requests).toHaveLength(2);
      expect(readFileSync(effectsFile, 'utf8')).toBe('{"to":"ada"}\n');
    },
  };
}

// A process that a test kills: `node agent-process.ts OPTIONS`; OPTIONS is JSON (see `killable-process.ts`). Its agent
// calls a tool in each of four rounds; each call appends its number to `effectsFile` and prints it, and at `stopPoint`
// the process waits to be killed. With `question` its agent answers that question and has a memory, and `stopPoint` is
// a point of `MEMORY_STOP_POINTS`. With `engine` it runs the workflow and prints the output; with `worker` it is a
// worker until its stdin ends.
import { appendFileSync } from 'node:fs';
import { blocks } from '@heddle/blocks';
import type { BlockExecutor, Json, JsonObject } from '@heddle/core';
import type { BlockContext } from '@heddle/core/blocks';
import { createEngine, isEngineError } from '@heddle/engine';
import type { ExecutorServices } from '@heddle/engine';
import { createWorker } from '@heddle/temporal';
import {
  COUNTER_WORKFLOW,
  COUNTING_WORKFLOW,
  COUNTING_BY_WORKFLOW,
  CONVERSATION_WORKFLOW,
} from './killable-process.ts';
import type { AgentProcessOptions, MEMORY_STOP_POINTS } from './killable-process.ts';

const processOptions = JSON.parse(process.argv[2] ?? '') as AgentProcessOptions;
const {
  url,
  effectsFile,
  stopPoint,
  countsByWorkflow = false,
  question,
  models = {},
  ...runtimeOptions
} = processOptions;
const [workflowId, ...definitions] =
  question !== undefined
    ? (['remembering', CONVERSATION_WORKFLOW] as const)
    : countsByWorkflow
      ? (['counting-by-workflow', COUNTING_BY_WORKFLOW, COUNTER_WORKFLOW] as const)
      : (['counting', COUNTING_WORKFLOW] as const);
const RUN_ID = question === undefined ? 'agent-run' : `asked-${question}`;

/** Prints the point and waits to be killed, if the process stops at it. */
async function reachPoint(point: (typeof MEMORY_STOP_POINTS)[number][0]): Promise<void> {
  if (point !== stopPoint) return;
  process.stdout.write(`${point}\n`);
  await new Promise(() => undefined);
}

type Context = BlockContext<ExecutorServices>;

/** Returns the executor. An executor of agents waits to be killed at `stopPoint`, if that is a memory point. */
function interruptibleExecutor(executor: BlockExecutor): BlockExecutor {
  if (!executor.types.includes('agent')) return executor;
  return { ...executor, execute: (context) => executor.execute(interruptibleContext(context as Context)) };
}

/** Returns the context with steps and conversations that wait to be killed at `stopPoint`. */
function interruptibleContext(context: Context): Context {
  const step: Context['step'] = (key, work, stepOptions) =>
    context.step(
      key,
      async (call) => {
        const result = await work(call);
        if (key === 'model 1') await reachPoint('answer received');
        return result;
      },
      stepOptions,
    );
  const services: Context['services'] = {
    ...context.services,
    conversation: (id) => {
      const conversation = context.services.conversation(id);
      const add = async (exchange: Json): Promise<void> => {
        await reachPoint('answer recorded');
        await conversation.add(exchange);
        await reachPoint('exchange stored');
      };
      return { ...conversation, add };
    },
  };
  const overrides: Partial<Context> = { step, services };
  return new Proxy(context, {
    get: (target, name) => (Reflect.get(overrides, name) ?? Reflect.get(target, name)) as unknown,
  });
}

async function count(n: Json): Promise<JsonObject> {
  const line = JSON.stringify(n);
  appendFileSync(effectsFile, `${line}\n`);
  process.stdout.write(`${line}\n`);
  if (line === stopPoint) await new Promise(() => undefined);
  return { counted: n };
}

const tally: BlockExecutor = {
  types: ['tally'],
  class: 'effect',
  execute: async (context) => ({ output: await count(context.field('n', 'native') ?? null) }),
};

const options = {
  services: { local: url },
  blocks: [
    tally,
    ...blocks({
      ...models,
      tools: [
        {
          id: 'count',
          description: 'Counts.',
          parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
          idempotent: true,
          run: ({ n }) => count(n ?? null),
        },
      ],
    }).map(interruptibleExecutor),
  ],
};

/** Starts the run, or continues it, and returns its output. */
async function completeRun(): Promise<Json> {
  const engine = await createEngine({ ...options, ...runtimeOptions.engine });
  for (const definition of definitions) await engine.deploy(definition);
  const input = question === undefined ? {} : { question };
  const result = engine.attach(RUN_ID).then(
    (run) => run.result(),
    async (error: unknown) => {
      const code = isEngineError(error) ? error.code : undefined;
      if (code === 'RUN_NOT_FOUND')
        return (await engine.start(workflowId, input, { runId: RUN_ID })).result();
      // The engine resumed the run when it opened.
      if (code === 'RUN_ENDED') return engine.getRun(RUN_ID);
      throw error;
    },
  );
  const { output } = await result;
  const children = await engine.childRuns(RUN_ID);
  await engine.close();
  return countsByWorkflow ? { ...(output as JsonObject), childCount: children.length } : (output ?? null);
}

if (runtimeOptions.worker) {
  const worker = await createWorker({ ...options, ...runtimeOptions.worker });
  process.stdin.on('end', () => void worker.stop({ drainMs: 0, killMs: 2000 }));
  process.stdin.resume();
} else process.stdout.write(`${JSON.stringify(await completeRun())}\n`);

import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../../support/model-server.ts';
import type { ModelResponse, ModelRequest, ModelServer } from '../../support/model-server.ts';
import { block, loop, workflow } from '../../support/workflow.ts';
import type { MakeRuntime, RuntimeUnderTest } from './runtime-under-test.ts';

const QUESTION = [{ role: 'user', content: '<start.question>' }];
const MEMORY_FIELDS = {
  memoryType: 'conversation',
  conversationId: '<start.conversation>',
  messages: QUESTION,
};

function agentBlock(fields: JsonObject, options: JsonObject = {}) {
  return block('A', 'agent', { model: 'local/scripted', ...fields }, options);
}

/** Returns the contents of all messages of a request. */
function contentsOf(request: ModelRequest | undefined): string[] {
  const { messages = [] } = request?.body ?? {};
  return (messages as { content: string }[]).map(({ content }) => content);
}

/** Returns an answer that repeats the question: `answer to QUESTION`. */
function echo(request: ModelRequest): ModelResponse {
  return { text: `answer to ${contentsOf(request).at(-1)}` };
}

async function openModelServer(
  respond: (request: ModelRequest) => ModelResponse = echo,
): Promise<ModelServer> {
  const server = await startModelServer(respond);
  onTestFinished(() => server.close());
  return server;
}

function openEngine(runtime: RuntimeUnderTest, { services }: ModelServer): Promise<Engine> {
  return runtime.open({ blocks: blocks(), services });
}

async function ask(engine: Engine, question: string, fields: JsonObject = {}): Promise<void> {
  const definition = workflow([agentBlock({ ...MEMORY_FIELDS, ...fields })], ['Start -> A']);
  const result = await engine.execute({ workflow: definition }, { question, conversation: 'c1' });
  expect(result).toMatchObject({ status: 'completed', output: { content: `answer to ${question}` } });
}

/** Defines the tests of conversations of agents. `test/agents/memory.test.ts` tests the details of their windows. */
export function describeMemories(makeRuntime: MakeRuntime): void {
  describe('memory of agents', () => {
    it('each kind of memory gives the model its window of the conversation, even after a restart', async () => {
      const server = await openModelServer();
      const runtime = makeRuntime();
      const firstEngine = await openEngine(runtime, server);
      for (const question of ['one', 'two', 'three']) await ask(firstEngine, question);
      await firstEngine.close();
      const secondEngine = await openEngine(runtime, server);
      const cases: [window: string[], fields: JsonObject][] = [
        [['three'], { memoryType: 'sliding_window', slidingWindowSize: 3 }],
        [['three', 'four'], { memoryType: 'sliding_window_tokens', slidingWindowTokens: 60 }],
        [['one', 'two', 'three', 'four', 'five'], { memoryType: 'conversation' }],
        [[], { memoryType: 'none' }],
      ];
      const questions = ['four', 'five', 'six', 'seven'];
      for (const [index, [window, fields]] of cases.entries()) {
        const question = questions[index] ?? '';
        await ask(secondEngine, question, fields);
        const exchanges = window.flatMap((message) => [message, `answer to ${message}`]);
        expect(contentsOf(server.requests.at(-1))).toEqual([...exchanges, question]);
      }
      await ask(secondEngine, 'eight', { memoryType: 'sliding_window', slidingWindowSize: 2 });
      expect(contentsOf(server.requests.at(-1))).toEqual(['six', 'answer to six', 'eight']);
    });

    it('each iteration of a loop remembers the earlier iterations', async () => {
      const server = await openModelServer();
      const engine = await openEngine(makeRuntime(), server);
      const messages = [{ role: 'user', content: '<loop.currentItem>' }];
      const agentLoop = loop(
        'L',
        { loopType: 'forEach', collection: ['a', 'b', 'c'] },
        agentBlock({ ...MEMORY_FIELDS, messages }),
      );
      const definition = workflow([agentLoop], ['Start -> L -> A']);
      expect(await engine.execute({ workflow: definition }, { conversation: 'c1' })).toMatchObject({
        status: 'completed',
      });
      expect(contentsOf(server.requests.at(-1))).toEqual(['a', 'answer to a', 'b', 'answer to b', 'c']);
    });

    it('a later attempt reads the same exchanges as the first, and its exchange is stored once', async () => {
      const refusalGate = Promise.withResolvers<void>();
      let refusalCount = 0;
      // The model refuses four requests, which are all attempts of one call.
      const server = await openModelServer((request) =>
        contentsOf(request).at(-1) === 'two' && ++refusalCount <= 4
          ? { status: 503, headers: { 'retry-after': '0' }, sendAfter: refusalGate.promise }
          : echo(request),
      );
      const engine = await openEngine(makeRuntime(), server);
      await ask(engine, 'one');
      const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };
      const definition = workflow([agentBlock(MEMORY_FIELDS, { retry })], ['Start -> A']);
      const run = await engine.start({ workflow: definition }, { question: 'two', conversation: 'c1' });
      await expect.poll(() => refusalCount, { timeout: 20_000 }).toBe(1);
      await ask(engine, 'meanwhile');
      refusalGate.resolve();
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(refusalCount).toBe(5);
      expect(contentsOf(server.requests.at(-1))).toEqual(['one', 'answer to one', 'two']);
      await ask(engine, 'last');
      const exchanges = ['one', 'meanwhile', 'two'].flatMap((message) => [message, `answer to ${message}`]);
      expect(contentsOf(server.requests.at(-1))).toEqual([...exchanges, 'last']);
    });
  });
}

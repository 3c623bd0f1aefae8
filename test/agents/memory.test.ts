import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelRequest, ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const MEMORY_FIELDS = { memoryType: 'conversation', conversationId: '<start.talk>' };

/** Returns an answer that repeats the question: `answer to QUESTION`. */
function echo(request: ModelRequest): ModelResponse {
  return { text: `answer to ${contentsOf(request).at(-1)}` };
}

async function startModel(answer: (request: ModelRequest) => ModelResponse = echo): Promise<ModelServer> {
  const server = await startModelServer(answer);
  onTestFinished(() => server.close());
  return server;
}

/** Returns the contents of all messages of a request except the instructions. */
function contentsOf({ body }: ModelRequest): string[] {
  const messages = body['messages'] as { role: string; content: string }[];
  return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
}

async function openEngine(server: ModelServer, options: EngineOptions = {}, tools: AgentTool[] = []) {
  const engine = await createEngine({
    blocks: blocks({ tools }),
    services: server.services,
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

function agentWorkflow(fields: JsonObject, id = 'talking') {
  const agent = block('A', 'agent', {
    model: 'local/scripted',
    messages: [{ role: 'user', content: '<start.question>' }],
    ...fields,
  });
  return workflow([agent], ['Start -> A'], { id });
}

async function ask(
  engine: Engine,
  question: string,
  fields: JsonObject = MEMORY_FIELDS,
  conversationId = 'c1',
) {
  const result = await engine.execute(
    { workflow: agentWorkflow(fields) },
    { question, talk: conversationId },
  );
  expect(result).toMatchObject({ status: 'completed' });
  return result;
}

describe('an agent with a memory', () => {
  it('gets the earlier questions and answers of its conversation only', async () => {
    const server = await startModel();
    const engine = await openEngine(server);
    await ask(engine, 'one');
    await ask(engine, 'else', MEMORY_FIELDS, 'c2');
    await ask(engine, 'two');
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual(['one', 'answer to one', 'two']);
  });

  it('puts its conversation after instructions and examples, which are not stored', async () => {
    const server = await startModel();
    const engine = await openEngine(server);
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'example' },
      { role: 'assistant', content: 'sample' },
      { role: 'user', content: '<start.question>' },
    ];
    await ask(engine, 'one', { ...MEMORY_FIELDS, messages });
    await ask(engine, 'two', { ...MEMORY_FIELDS, messages });
    const request = server.requests.at(-1) as ModelRequest;
    expect(contentsOf(request)).toEqual(['example', 'sample', 'one', 'answer to one', 'two']);
  });

  it('stores the last answer, without the tool calls before it', async () => {
    const tool: AgentTool = {
      id: 'look',
      description: 'Looks.',
      parameters: { type: 'object' },
      run: async () => 'seen',
    };
    const server = await startModel((request) =>
      JSON.stringify(request.body).includes('seen') || request.number > 2
        ? { text: 'done' }
        : { toolCalls: [{ name: 'look', args: {} }] },
    );
    const engine = await openEngine(server, {}, [tool]);
    await ask(engine, 'one', { ...MEMORY_FIELDS, tools: [{ type: 'look' }] });
    await ask(engine, 'two');
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual(['one', 'done', 'two']);
  });

  it.each([
    [{ memoryType: 'sliding_window', slidingWindowSize: 2 }, ['three', 'answer to three']],
    [{ memoryType: 'sliding_window', slidingWindowSize: '3' }, ['three', 'answer to three']],
    [{ memoryType: 'sliding_window', slidingWindowSize: 1 }, []],
    [{ memoryType: 'sliding_window_tokens', slidingWindowTokens: 30 }, ['three', 'answer to three']],
    [{ memoryType: 'sliding_window_tokens', slidingWindowTokens: 5 }, []],
    [{ memoryType: 'none' }, []],
  ])('gets whole exchanges up to the limit: %j', async (fields, earlierContents) => {
    const server = await startModel();
    const engine = await openEngine(server);
    for (const question of ['one', 'two', 'three']) await ask(engine, question);
    await ask(engine, 'four', { ...MEMORY_FIELDS, ...fields });
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual([...earlierContents, 'four']);
  });

  it('stores nothing for a question without an answer', async () => {
    const server = await startModel((request) =>
      request.number === 1 ? { status: 400, message: 'no' } : echo(request),
    );
    const engine = await openEngine(server);
    const result = await engine.execute(
      { workflow: agentWorkflow(MEMORY_FIELDS) },
      { question: 'zero', talk: 'c1' },
    );
    expect(result).toMatchObject({ status: 'failed' });
    await ask(engine, 'one');
    await ask(engine, 'two');
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual(['one', 'answer to one', 'two']);
  });

  it('keeps the exchanges of runs that continue a conversation at the same time', async () => {
    const server = await startModel();
    const engine = await openEngine(server);
    const questions = ['a', 'b', 'c', 'd'];
    await Promise.all(questions.map((question) => ask(engine, question)));
    await ask(engine, 'last');
    const contents = contentsOf(server.requests.at(-1) as ModelRequest);
    expect(contents.toSorted()).toEqual(
      [...questions, ...questions.map((question) => `answer to ${question}`), 'last'].toSorted(),
    );
  });

  it('keeps its conversation after a restart', async () => {
    const server = await startModel();
    const data = createDataFolder();
    const firstEngine = await openEngine(server, { data });
    await ask(firstEngine, 'one');
    await firstEngine.close();
    await ask(await openEngine(server, { data }), 'two');
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual(['one', 'answer to one', 'two']);
  });

  it('shares nothing with workflows of another tenant', async () => {
    const server = await startModel();
    const engine = await openEngine(server, { tenant: (id) => `tenant of ${id}` });
    for (const id of ['first', 'second'])
      await engine.execute({ workflow: agentWorkflow(MEMORY_FIELDS, id) }, { question: id, talk: 'c1' });
    expect(contentsOf(server.requests.at(-1) as ModelRequest)).toEqual(['second']);
  });

  it.each<[problem: string, fields: JsonObject, message: RegExp]>([
    [
      'has a memory without a conversation',
      { memoryType: 'conversation' },
      /"A" has a memory but no "conversationId"/,
    ],
    [
      'has an unknown memory type',
      { memoryType: 'elephant', conversationId: 'c' },
      /"A" has the unknown memory type "elephant": it must be none, conversation/,
    ],
    [
      'has a conversation whose id is too long',
      { memoryType: 'conversation', conversationId: 'c'.repeat(256) },
      /id of a conversation must have 1 to 255 characters/,
    ],
    [
      'has a window without a size',
      { memoryType: 'sliding_window', conversationId: 'c', slidingWindowSize: 0 },
      /has an invalid "slidingWindowSize": it must be a number from 1 to 10000/,
    ],
  ])('fails before it calls the model if it %s', async (_problem, fields, message) => {
    const server = await startModel();
    const engine = await openEngine(server);
    const result = await engine.execute({ workflow: agentWorkflow(fields) }, { question: 'one' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toMatch(message);
    expect(server.requests).toEqual([]);
  });
});

describe('a memory block', () => {
  async function runMemoryBlock(engine: Engine, fields: JsonObject, input: JsonObject = {}) {
    const definition = workflow([block('M', 'memory', fields)], ['Start -> M'], { id: 'remembering' });
    return engine.execute({ workflow: definition }, input);
  }

  it('adds messages for agents, and gets messages of agents', async () => {
    const server = await startModel();
    const engine = await openEngine(server);
    await runMemoryBlock(engine, { operation: 'add', id: 'c1', role: 'user', content: 'my name is Ada' });
    const addFields = { operation: 'add', conversationId: 'c1', role: 'assistant', content: 'hello Ada' };
    expect(await runMemoryBlock(engine, addFields)).toMatchObject({
      output: {
        id: 'c1',
        memories: [
          { role: 'user', content: 'my name is Ada' },
          { role: 'assistant', content: 'hello Ada' },
        ],
      },
    });
    await ask(engine, 'who am I?');
    expect(contentsOf(server.requests[0] as ModelRequest)).toEqual([
      'my name is Ada',
      'hello Ada',
      'who am I?',
    ]);
    const { output } = await runMemoryBlock(engine, { operation: 'get', id: 'c1' });
    expect((output as { memories: JsonObject[] }).memories.slice(2)).toEqual([
      { role: 'user', content: 'who am I?' },
      { role: 'assistant', content: 'answer to who am I?' },
    ]);
  });

  it('lists conversations, and deletes one', async () => {
    const engine = await openEngine(await startModel());
    for (const id of ['b', 'a']) await runMemoryBlock(engine, { id, content: `in ${id}` });
    const expectedOutput = {
      memories: ['a', 'b'].map((id) => ({ id, messages: [{ role: 'user', content: `in ${id}` }] })),
    };
    expect(await runMemoryBlock(engine, { operation: 'getAll' })).toMatchObject({ output: expectedOutput });
    const emptyResult = { output: { id: 'a', memories: [] } };
    expect(await runMemoryBlock(engine, { operation: 'delete', id: 'a' })).toMatchObject(emptyResult);
    expect(await runMemoryBlock(engine, { operation: 'get', id: 'a' })).toMatchObject(emptyResult);
    expect(await runMemoryBlock(engine, { operation: 'getAll' })).toMatchObject({
      output: { memories: [{ id: 'b' }] },
    });
  });

  it('sees only conversations of its tenant', async () => {
    const engine = await openEngine(await startModel(), {
      tenant: (id) => (id === 'other' ? 'b' : 'a'),
    });
    await runMemoryBlock(engine, { id: 'c1', content: 'mine' });
    const otherWorkflow = workflow([block('M', 'memory', { operation: 'getAll' })], ['Start -> M'], {
      id: 'other',
    });
    expect(await engine.execute({ workflow: otherWorkflow }, {})).toMatchObject({ output: { memories: [] } });
    expect(await runMemoryBlock(engine, { operation: 'getAll' })).toMatchObject({
      output: { memories: [{ id: 'c1' }] },
    });
  });

  it.each<[description: string, fields: JsonObject, message: string]>([
    ['no id', { operation: 'get' }, 'has no "id": the operation "get" requires it'],
    ['no message', { id: 'c1', content: ' ' }, 'has no "content"'],
    ['instructions', { id: 'c1', role: 'system', content: 'obey' }, '"role"'],
    ['an unknown operation', { operation: 'forget', id: 'c1' }, '"operation"'],
    [
      'an id that is too long',
      { operation: 'get', id: 'x'.repeat(256) },
      'The id of a conversation must have',
    ],
  ])('fails with %s', async (_, fields, message) => {
    const result = await runMemoryBlock(await openEngine(await startModel()), fields);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain(message);
  });
});

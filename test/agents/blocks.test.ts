import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunHandle } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelServer } from '../support/model-server.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import type { TestBlock } from '../support/workflow.ts';

const MODEL_FIELDS = { model: 'gpt-4o' };

/** Starts a model that gives these responses in order; the last response repeats. */
async function startModel(...responses: ModelResponse[]): Promise<ModelServer> {
  const server = await startModelServer(
    ({ number }) => responses[Math.min(number, responses.length) - 1] ?? { text: '' },
  );
  onTestFinished(() => server.close());
  return server;
}

/** Starts a model whose responses are all this object. `usage` adds fields such as the number of input tokens. */
function startModelReturning(answer: JsonObject, usage: ModelResponse = {}): Promise<ModelServer> {
  return startModel({ text: JSON.stringify({ answer }), ...usage });
}

interface RunOptions {
  testBlocks: TestBlock[];
  edges: string[];
  input?: JsonObject;
  engine?: EngineOptions;
}

async function startRun(
  server: ModelServer,
  { testBlocks, edges, input = {}, engine: engineOptions }: RunOptions,
) {
  const engine = await createEngine({
    blocks: blocks(),
    services: server.services,
    credentials: { openai: 'key' },
    ...engineOptions,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const run = await engine.start({ workflow: workflow(testBlocks, edges) }, input);
  return { run, readLogs: () => engine.getLogs(run.runId) };
}

/** Runs a workflow with one block. */
async function runBlock(server: ModelServer, type: string, fields: JsonObject, input: JsonObject = {}) {
  const { run } = await startRun(server, {
    testBlocks: [block('B', type, { ...MODEL_FIELDS, ...fields })],
    edges: ['Start -> B'],
    input,
  });
  return run.result();
}

/** Returns the body of a request to the model as a string. */
function requestTextOf(server: ModelServer, number = 1): string {
  return JSON.stringify(server.requests[number - 1]?.body ?? null);
}

/** Returns the emissions of the run. */
async function collectEmissions(run: RunHandle): Promise<unknown[]> {
  const emissions: unknown[] = [];
  for await (const event of run.events()) if (event.type === 'block:emission') emissions.push(event.emission);
  return emissions;
}

const ROUTES = [
  { id: 'r-sales', title: 'Sales', value: 'Questions about prices of <start.product>' },
  { id: 'r-help', title: 'Help', value: 'Something does not work' },
];

describe('a router with routes', () => {
  const routerRunOptions = (routes: JsonObject[] | string = ROUTES): RunOptions => ({
    testBlocks: [
      block('R', 'router_v2', { ...MODEL_FIELDS, context: '<start.message>', routes }),
      fn('Sell', 'return "sold"'),
      fn('Help', 'return <r.selectedRoute> + ": " + <r.reasoning>'),
      fn('Sorry', 'return <r.error>'),
    ],
    edges: ['Start -> R', 'R:router-r-sales -> Sell', 'R:router-r-help -> Help', 'R:error -> Sorry'],
    input: { message: 'It is broken', product: 'looms' },
  });

  it('takes the route that the model chooses, and outputs its reasoning, tokens and cost', async () => {
    const server = await startModelReturning(
      { reasoning: 'It is broken.', route: 'r-help' },
      { inputTokens: 1000 },
    );
    const { run, readLogs } = await startRun(server, routerRunOptions());
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: { result: 'r-help: It is broken.' },
    });
    const logs = await readLogs();
    expect(logs.find(({ blockName }) => blockName === 'R')?.output).toEqual({
      context: 'It is broken',
      model: 'gpt-4o',
      tokens: { input: 1000, output: 5, total: 1005, cached: 0, cacheWrite: 0, reasoning: 0 },
      cost: {
        ...{ input: 0.0025, output: 0.00005, total: 0.00255 },
        ...{ inputMicros: 2500, outputMicros: 50, totalMicros: 2550 },
      },
      selectedRoute: 'r-help',
      reasoning: 'It is broken.',
      selectedPath: { blockId: 'Help', blockType: 'function', blockTitle: 'Help' },
    });
    expect(logs.some(({ blockName }) => blockName === 'Sell')).toBe(false);
    expect(requestTextOf(server)).toContain('Questions about prices of looms');
    expect(requestTextOf(server)).toContain('"enum":["r-sales","r-help","NO_MATCH"]');
  });

  it('reads routes from a JSON string', async () => {
    const server = await startModelReturning({ reasoning: '', route: 'r-sales' });
    const { run } = await startRun(server, routerRunOptions(JSON.stringify(ROUTES)));
    expect(await run.result()).toMatchObject({ output: { result: 'sold' } });
  });

  it('describes the format of the answer in the prompt, for servers that ignore response formats', async () => {
    const server = await startModelReturning({ reasoning: '', route: 'r-sales' });
    const { run } = await startRun(server, routerRunOptions());
    await run.result();
    const [request] = server.requests;
    const input = request?.body['input'] as { role: string; content: string }[];
    expect(input[0]?.content).toContain('"enum":["r-sales","r-help","NO_MATCH"]');
  });

  it('fails if no route fits, and does not call the model again', async () => {
    const server = await startModelReturning({ reasoning: 'Off topic.', route: 'NO_MATCH' });
    const { run } = await startRun(server, routerRunOptions());
    expect(await run.result()).toMatchObject({
      output: { result: 'The model found no route of "R" that fits.' },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('does not choose a route that does not exist, even if the model insists', async () => {
    const server = await startModelReturning({ reasoning: 'x', route: 'r-admin' });
    const { run } = await startRun(server, routerRunOptions());
    expect(await run.result()).toMatchObject({
      output: { result: expect.stringContaining('does not match the response format') as string },
    });
    expect(server.requests).toHaveLength(2);
  });

  it('emits nothing, because the answer of the model is not for readers', async () => {
    const server = await startModelReturning({ reasoning: 'It is broken.', route: 'r-help' });
    const { run } = await startRun(server, routerRunOptions());
    expect(await collectEmissions(run)).toEqual([]);
  });
});

describe('the older router', () => {
  it('chooses one of the next blocks', async () => {
    const server = await startModelReturning({ reasoning: 'x', route: 'Left' });
    const { run } = await startRun(server, {
      testBlocks: [
        block('R', 'router', { ...MODEL_FIELDS, prompt: 'Where to?' }),
        fn('Left', 'return <r.selectedPath.blockTitle>'),
        fn('Right', 'return 1'),
      ],
      edges: ['Start -> R', 'R -> Left', 'R -> Right'],
    });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 'Left' } });
    expect(requestTextOf(server)).toContain('"enum":["Left","Right","NO_MATCH"]');
  });
});

describe('an evaluator', () => {
  const metrics = [
    { id: '1', name: 'Clarity', description: 'Is it clear?', range: { min: 1, max: 5 } },
    { id: '2', name: 'Tone', description: 'Is it kind?' },
  ];

  it('returns each score under the lower-case name of its metric, limited to the range of the metric', async () => {
    const server = await startModelReturning({ clarity: 9, tone: 2.5 });
    const result = await runBlock(server, 'evaluator', { content: '<start.text>', metrics }, { text: 'Hi.' });
    expect(result).toMatchObject({
      status: 'completed',
      output: { content: 'Hi.', model: 'gpt-4o', tokens: { total: 15 }, clarity: 5, tone: 2.5 },
    });
    expect(requestTextOf(server)).toContain('Is it clear? From 1 to 5.');
  });

  it('calls the model once more if a score is missing', async () => {
    const server = await startModel(
      { text: '{"answer": {"clarity": 3}}' },
      { text: '{"answer": {"clarity": 3, "tone": 4}}' },
    );
    const result = await runBlock(server, 'evaluator', { content: 'Hi.', metrics });
    expect(result).toMatchObject({ output: { clarity: 3, tone: 4, tokens: { total: 30 } } });
  });

  it.each<[problem: string, metrics: JsonObject[], message: RegExp]>([
    ['no metrics', [], /The block "B" has no metrics/],
    ['a metric without a name', [{ description: 'x' }], /"metrics\.0\.name"/],
    [
      'a metric named like an output',
      [{ name: 'Cost' }],
      /a metric "Cost", whose name is reserved for an output/,
    ],
    ['two metrics of the same name', [{ name: 'Tone' }, { name: 'tone' }], /two metrics "tone"/],
    [
      'a metric whose range is empty',
      [{ name: 'Tone', range: { min: 3, max: 1 } }],
      /lowest score is above its highest/,
    ],
  ])('is refused with %s', async (_, invalidMetrics, message) => {
    const server = await startModel({ text: 'never' });
    const result = await runBlock(server, 'evaluator', { content: 'Hi.', metrics: invalidMetrics });
    expect(result.error).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
    expect(result.error?.message).toMatch(message);
    expect(server.requests).toEqual([]);
  });
});

describe('a translation', () => {
  it('is the answer of the model', async () => {
    const server = await startModel({ chunks: ['Bon', 'jour'] });
    const fields = { context: '<start.text>', targetLanguage: 'French' };
    const result = await runBlock(server, 'translate', fields, { text: 'Hello' });
    expect(result).toMatchObject({
      status: 'completed',
      output: { content: 'Bonjour', model: 'gpt-4o', tokens: { total: 15 } },
    });
    expect(requestTextOf(server)).toContain('French');
    expect(requestTextOf(server)).toContain('Hello');
  });

  it('is emitted as it arrives', async () => {
    const server = await startModel({ chunks: ['Bon', 'jour'] });
    const fields = { ...MODEL_FIELDS, context: 'Hello', targetLanguage: 'French' };
    const { run } = await startRun(server, {
      testBlocks: [block('B', 'translate', fields)],
      edges: ['Start -> B'],
    });
    expect(await collectEmissions(run)).toEqual([
      { type: 'text', text: 'Bon' },
      { type: 'text', text: 'jour' },
    ]);
  });

  it('needs a language', async () => {
    const server = await startModel({ text: 'never' });
    const result = await runBlock(server, 'translate', { context: 'Hello', targetLanguage: ' ' });
    expect(result.error?.message).toContain(
      'The block "B" has fields that it cannot use: "targetLanguage" is empty.',
    );
  });
});

describe('a vision block', () => {
  const PNG = Buffer.from('\x89PNG\r\n\x1A\n0000', 'latin1');
  const DATA_URL = `data:image/png;base64,${PNG.toString('base64')}`;

  /** Starts a server that responds with an image, or with `body`. */
  async function startImageServer(body: Buffer | string = PNG, status = 200) {
    const server = createServer((_, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const runVision = (server: ModelServer, fields: JsonObject, exceptions: string[] = []) =>
    startRun(server, {
      testBlocks: [block('B', 'vision', { ...MODEL_FIELDS, ...fields })],
      edges: ['Start -> B'],
      engine: { egress: { exceptions } },
    }).then(({ run }) => run.result());

  it.each(['gpt-4o', 'claude-sonnet-4-5', 'gemini-2.5-flash', 'local/scripted'])(
    'sends images to %s with the question',
    async (model) => {
      const server = await startModel({ text: 'A loom.' });
      const { run } = await startRun(server, {
        testBlocks: [block('B', 'vision', { model, imageUrl: DATA_URL, prompt: 'What is it?' })],
        edges: ['Start -> B'],
        engine: { credentials: { openai: 'key', anthropic: 'key', google: 'key' } },
      });
      expect(await run.result()).toMatchObject({ output: { content: 'A loom.', tokens: { total: 15 } } });
      expect(requestTextOf(server)).toContain('What is it?');
      expect(requestTextOf(server)).toContain(PNG.toString('base64'));
    },
  );

  it('reads files of the input', async () => {
    const server = await startModel({ text: 'A loom.' });
    const engine = await createEngine({
      blocks: blocks(),
      services: server.services,
      credentials: { openai: 'key' },
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const fields = { ...MODEL_FIELDS, imageFile: '<start.files>' };
    const source = { workflow: workflow([block('B', 'vision', fields)], ['Start -> B']) };
    const file = { type: 'file', name: 'loom.png', data: DATA_URL };
    const input = await engine.storeFiles(source, { files: [file] });
    expect(await engine.execute(source, input)).toMatchObject({ output: { content: 'A loom.' } });
    expect(requestTextOf(server)).toContain(PNG.toString('base64'));
    const [record] = (input as { files: JsonObject[] }).files;
    const foreignInput = { files: [{ ...record, key: `sha256:${'0'.repeat(64)}` }] };
    const result = await engine.execute(source, foreignInput);
    expect(result.error?.message).toContain('has an image "loom.png", which is not a file of this workspace');
  });

  it('downloads an image from a URL, if egress allows it', async () => {
    const server = await startModel({ text: 'A loom.' });
    const host = await startImageServer();
    const fields = { imageUrl: `http://${host}/loom.png` };
    expect(await runVision(server, fields, [host])).toMatchObject({ output: { content: 'A loom.' } });
    expect(requestTextOf(server)).toContain(PNG.toString('base64'));
    const result = await runVision(server, fields);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HTTP_FAILED' } });
    expect(server.requests).toHaveLength(1);
  });

  it('fails if the server refuses the image', async () => {
    const server = await startModel({ text: 'never' });
    const host = await startImageServer('gone', 404);
    const result = await runVision(server, { imageUrl: `http://${host}/x.png` }, [host]);
    expect(result.error?.message).toContain('the server responded with 404');
  });

  it.each<[fields: JsonObject, message: string]>([
    [{}, 'has no image: fill in "imageFile" or "imageUrl"'],
    [{ imageUrl: 'data:text/html;base64,PGI+' }, 'has an image that is not PNG, JPEG, GIF or WebP'],
    [{ imageUrl: 'data:image/png,abc' }, 'has a data: URL that is not in Base64'],
    [
      { imageUrl: 'file:///etc/passwd' },
      'has an image that is neither a file of this engine nor an http, https or data URL',
    ],
    [
      { imageFile: { path: '/files/1' } },
      'has an image that is neither a file of this engine nor an http, https or data URL',
    ],
  ])('is refused for %j', async (fields, message) => {
    const server = await startModel({ text: 'never' });
    const result = await runVision(server, fields);
    expect(result).toMatchObject({ error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain(message);
    expect(server.requests).toEqual([]);
  });
});

describe('a thinking block', () => {
  it('outputs its thought without a model', async () => {
    const server = await startModel({ text: 'never' });
    const result = await runBlock(server, 'thinking', { thought: 'First <start.a>.' }, { a: { b: 1 } });
    expect(result).toMatchObject({ output: { acknowledgedThought: 'First {"b":1}.' } });
    expect(server.requests).toEqual([]);
  });
});

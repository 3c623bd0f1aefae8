import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ToolFile } from '@heddle/blocks';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { main } from '../main.ts';

async function heddle(argv: string[], stdin = '') {
  const io = createRecordingIo(stdin);
  const exitCode = await main(argv, io);
  return { exitCode, stdout: io.stdout.text, stderr: io.stderr.text };
}

const okResponse = { responses: { '200': { description: 'ok' } } };

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Pets\u001B[31m', version: '1' },
  servers: [{ url: '/api' }],
  paths: {
    '/pets': {
      get: { operationId: 'listPets', summary: 'Lists\u001B[2J pets', tags: ['pets'], ...okResponse },
      post: { operationId: 'addPet', ...okResponse },
      trace: { ...okResponse },
    },
  },
};

const YAML = `
openapi: 3.1.0
info: { title: Pets, version: '1' }
servers: [{ url: 'https://{zone}.pets.test', variables: { zone: { default: eu } } }]
paths:
  /pets:
    get:
      operationId: listPets
      security: [{ token: [] }]
      responses: { '200': { description: ok } }
    post:
      operationId: addPet
      security: [{ id: [], secret: [] }]
      responses: { '200': { description: ok } }
components:
  securitySchemes:
    token: { type: http, scheme: bearer }
    id: { type: apiKey, in: header, name: X-Id }
    secret: { type: apiKey, in: header, name: X-Secret }
`;

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-tools-'));
  await writeFile(join(folder, 'pets.json'), JSON.stringify(DOCUMENT));
  await writeFile(join(folder, 'pets.yaml'), YAML);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const pathTo = (name: string): string => join(folder, name);
const readToolFile = async (name: string): Promise<ToolFile> =>
  JSON.parse(await readFile(pathTo(name), 'utf8')) as ToolFile;

describe('heddle tools import', () => {
  it('writes a tool file, and reports the skipped operations', async () => {
    const argv = ['tools', 'import', pathTo('pets.json'), '--name', 'pets', '--out', pathTo('a.json')];
    const { exitCode, stdout, stderr } = await heddle(argv);
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`2 tools in ${pathTo('a.json')}`);
    expect(stderr).toMatch(/pets +unknown: set it with --service pets=URL/);
    expect(stderr).toMatch(/1 operation skipped:\n +TRACE \/pets +uses the method TRACE/);
    const { tools } = await readToolFile('a.json');
    expect(tools.map(({ id }) => id)).toEqual(['pets_listPets', 'pets_addPet']);
  });

  it('reads YAML and standard input, and imports only selected operations', async () => {
    const options = ['--name', 'pets', '--out', pathTo('b.json'), '--variable', 'zone=us', '--json'];
    const { exitCode, stdout } = await heddle(['tools', 'import', pathTo('pets.yaml'), ...options]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      data: { tools: ['pets_listPets', 'pets_addPet'], skipped: [], simplified: [], unselected: 0 },
    });
    expect((await readToolFile('b.json')).services['pets']?.address).toBe('https://us.pets.test');
    const result = await heddle([
      'tools',
      'import',
      pathTo('pets.yaml'),
      '--name',
      'pets',
      '--out',
      pathTo('b.json'),
    ]);
    expect(result.stderr).toMatch(
      /pets +https:\/\/eu\.pets\.test +credential: bearer or JSON object with id, secret/,
    );
    const selectionOptions = ['--only', 'GET *', '--only', 'nothing'];
    const stdinResult = await heddle(
      ['tools', 'import', '-', ...options, ...selectionOptions],
      JSON.stringify(DOCUMENT),
    );
    expect(JSON.parse(stdinResult.stdout)).toMatchObject({
      data: { tools: ['pets_listPets'], unselected: 1 },
    });
    const emptySelectionResult = await heddle([
      'tools',
      'import',
      pathTo('pets.json'),
      '--name',
      'pets',
      '--only',
      'nothing',
    ]);
    expect(emptySelectionResult.exitCode).toBe(2);
    expect(emptySelectionResult.stderr).toContain('0 tools, 2 operations not selected');
  });

  it('downloads a document under the egress policy, and resolves relative server URLs against its URL', async () => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/openapi.json' ? 200 : 404).end(JSON.stringify(DOCUMENT));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const argv = [
      'tools',
      'import',
      `http://${host}/openapi.json`,
      '--name',
      'pets',
      '--out',
      pathTo('c.json'),
    ];
    const refusedResult = await heddle(argv);
    expect(refusedResult.exitCode).toBe(2);
    expect(refusedResult.stderr).toContain(`--allow-host ${host}`);
    expect((await heddle([...argv, '--allow-host', host])).exitCode).toBe(0);
    expect((await readToolFile('c.json')).services['pets']?.address).toBe(`http://${host}/api`);
    const missingResult = await heddle([...argv.with(2, `http://${host}/none`), '--allow-host', host]);
    expect(missingResult.stderr).toContain('responded with status 404');
  });

  it.each<[text: string, message: string]>([
    ['{"openapi": ', 'is not JSON'],
    ['a: [b', 'is not JSON or YAML'],
    ['just text', 'is not a JSON object'],
    ['{"openapi": "9"}', 'does not name a version'],
  ])('refuses an invalid document: %s', async (text, message) => {
    const { exitCode, stderr } = await heddle(['tools', 'import', '-', '--name', 'pets'], text);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });

  it('refuses an invalid service name, and YAML whose aliases expand without limit', async () => {
    const invalidNameResult = await heddle(['tools', 'import', pathTo('pets.json'), '--name', 'a b']);
    expect(invalidNameResult.stderr).toContain('"a b" is not a valid name of a service');
    const lines = Array.from(
      { length: 30 },
      (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`,
    );
    const bomb = ['a0: &a0 x', ...lines].join('\n');
    const { exitCode, stderr } = await heddle(['tools', 'import', '-', '--name', 'pets'], bomb);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('is not JSON or YAML');
  });
});

describe('heddle tools list', () => {
  it('lists tools without control characters', async () => {
    await heddle(['tools', 'import', pathTo('pets.json'), '--name', 'pets', '--out', pathTo('d.json')]);
    const { exitCode, stdout } = await heddle(['tools', 'list', pathTo('d.json')]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^pets_listPets +GET \/pets +Lists pets$/m);
    expect(stdout).not.toContain('\u001B');
    const { data } = JSON.parse((await heddle(['tools', 'list', pathTo('d.json'), '--json'])).stdout) as {
      data: object[];
    };
    expect(data[0]).toMatchObject({ id: 'pets_listPets', method: 'GET', tags: ['pets'], readOnly: true });
  });

  it('lists tools that are code', async () => {
    const code = [
      { id: 'mean', description: 'The mean.', arguments: {}, language: 'python', code: 'return 1' },
    ];
    await writeFile(
      pathTo('code.json'),
      JSON.stringify({ version: 1, services: {}, tools: [], code, $defs: {} }),
    );
    expect((await heddle(['tools', 'list', pathTo('code.json')])).stdout).toMatch(
      /^mean +python +The mean\.$/m,
    );
    const { stdout } = await heddle(['tools', 'list', pathTo('code.json'), '--json']);
    expect(JSON.parse(stdout)).toEqual({
      data: [
        {
          ...{ id: 'mean', language: 'python', description: 'The mean.', source: 'code' },
          ...{ types: [], tags: [], idempotent: false },
        },
      ],
    });
  });

  it('lists the tools of all integrations without a file', async () => {
    const { exitCode, stdout } = await heddle(['tools', 'list']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^slack_message +POST \/chat\.postMessage +Sends/m);
    expect(stdout).toMatch(/^s3_get_object +s3 +/m);
    const { data } = JSON.parse((await heddle(['tools', 'list', '--json'])).stdout) as {
      data: { id: string; source: string; types: string[] }[];
    };
    expect(data.every(({ source, types }) => source === 'integration' && types.length > 0)).toBe(true);
    expect(data.map(({ id }) => id)).toEqual([...new Set(data.map(({ id }) => id))].toSorted());
  });

  it('refuses a JSON file that is not a tool file', async () => {
    const { exitCode, stderr } = await heddle(['tools', 'list', pathTo('pets.json')]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`The file ${pathTo('pets.json')} is not valid: version`);
  });
});

describe('heddle tools show', () => {
  it('shows a tool of an integration with its arguments, or their JSON Schema', async () => {
    const { exitCode, stdout } = await heddle(['tools', 'show', 'slack_message']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/call +POST \/chat\.postMessage/);
    expect(stdout).toMatch(/channel +string/);
    const schemaResult = await heddle(['tools', 'show', 'postgresql_query', '--json-schema']);
    expect(JSON.parse(schemaResult.stdout)).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'postgresql_query',
      type: 'object',
      required: ['query'],
    });
  });

  it('shows a tool of a file, without control characters', async () => {
    await heddle(['tools', 'import', pathTo('pets.json'), '--name', 'pets', '--out', pathTo('f.json')]);
    const { stdout } = await heddle(['tools', 'show', 'pets_listPets', pathTo('f.json')]);
    expect(stdout).toContain('Lists pets');
    expect(stdout).not.toContain('\u001B');
    const { data } = JSON.parse(
      (await heddle(['tools', 'show', 'pets_listPets', pathTo('f.json'), '--json'])).stdout,
    ) as { data: object };
    expect(data).toMatchObject({ source: 'service', method: 'GET', path: '/pets', parameters: {} });
  });

  it('suggests a similar tool for an unknown tool', async () => {
    const { exitCode, stderr } = await heddle(['tools', 'show', 'slack_mesage']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Did you mean "slack_message"?');
  });
});

describe('heddle run --tools', () => {
  it('lets blocks use the tools of a file, and refuses a JSON file that is not a tool file', async () => {
    await heddle(['tools', 'import', pathTo('pets.json'), '--name', 'pets', '--out', pathTo('e.json')]);
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([request.url]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const workflow = {
      blocks: {
        s: { id: 's', type: 'start_trigger', name: 'Start', enabled: true, subBlocks: {} },
        t: {
          ...{ id: 't', type: 'tool', name: 'Pets', enabled: true },
          subBlocks: { toolId: { id: 'toolId', type: 'short-input', value: 'pets_listPets' } },
        },
      },
      edges: [{ id: 'e', source: 's', target: 't' }],
    };
    await writeFile(pathTo('flow.json'), JSON.stringify(workflow));
    const argv = ['run', pathTo('flow.json'), '--data', pathTo('data'), '--json', '--tools'];
    const service = ['--service', `pets=http://127.0.0.1:${port}/v1`];
    const { exitCode, stdout } = await heddle([...argv, pathTo('e.json'), ...service]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ data: { output: { data: ['/v1/pets'], status: 200 } } });
    const invalidFileResult = await heddle([...argv, pathTo('pets.json')]);
    expect(invalidFileResult.exitCode).toBe(2);
    expect(invalidFileResult.stderr).toContain('is not valid');
  });
});

describe('heddle run --mcp-command', () => {
  const SERVER = fileURLToPath(new URL('../../../../test/support/mcp-stdio.ts', import.meta.url));

  const run = async (...options: string[]) => {
    const workflow = {
      blocks: {
        s: { id: 's', type: 'start_trigger', name: 'Start', enabled: true, subBlocks: {} },
        m: {
          ...{ id: 'm', type: 'mcp', name: 'Process info', enabled: true },
          subBlocks: {
            server: { id: 'server', type: 'short-input', value: 'local' },
            tool: { id: 'tool', type: 'short-input', value: 'process_info' },
          },
        },
      },
      edges: [{ id: 'e', source: 's', target: 'm' }],
    };
    await writeFile(pathTo('mcp.json'), JSON.stringify(workflow));
    return heddle(['run', pathTo('mcp.json'), '--data', pathTo('data'), '--json', ...options]);
  };

  it.each([
    ['words separated by spaces', `local=${process.execPath} ${SERVER} /dev/null one two`, ['one', 'two']],
    [
      'a JSON list',
      `local=${JSON.stringify([process.execPath, SERVER, '/dev/null', 'one two', '$HOME'])}`,
      ['one two', '$HOME'],
    ],
  ])('starts a program without a shell, from %s', async (_form, command, args) => {
    const { exitCode, stdout } = await run('--mcp-command', command);
    expect(exitCode).toBe(0);
    const { data } = JSON.parse(stdout) as { data: { output: { content: [{ text: string }] } } };
    expect(JSON.parse(data.output.content[0].text)).toEqual({ args, env: [], cwd: '/' });
  });

  it('allows only the tools of --mcp-tools', async () => {
    const command = `local=${process.execPath} ${SERVER} /dev/null`;
    const { exitCode, stdout } = await run('--mcp-command', command, '--mcp-tools', 'local=other');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('MCP_TOOL_UNKNOWN');
  });

  it.each([
    [['--mcp-command', 'local=node server.js'], 'absolute path of the program'],
    [['--mcp-command', 'local=["/usr/bin/node", 1]'], 'absolute path of the program'],
    [['--mcp-command', 'local'], '--mcp-command takes NAME=VALUE'],
    [
      ['--mcp-command', 'local=/bin/cat', '--mcp', 'local=https://mcp.example.com'],
      'has a URL and a command',
    ],
  ])('refuses %j', async (options, message) => {
    const { exitCode, stderr } = await run(...options);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});

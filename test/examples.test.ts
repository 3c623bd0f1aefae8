import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from './support/data-folder.ts';
import { runHeddle } from './support/heddle.ts';
import { startModelServer } from './support/model-server.ts';

const EXAMPLES = fileURLToPath(new URL('../examples', import.meta.url));

/** Runs an example with these arguments in a new data folder. Returns its output. */
async function runExample(file: string, ...args: string[]): Promise<unknown> {
  const { exitCode, stdout, stderr } = await runHeddle(['run', `${EXAMPLES}/${file}`, ...args], {
    cwd: createDataFolder(),
  });
  expect(stderr).not.toContain('!');
  expect(exitCode).toBe(0);
  return JSON.parse(stdout);
}

const ORDER_IDS = ['A-1001', 'A-1002'];

describe('the examples', () => {
  const workflows = readdirSync(EXAMPLES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json') && !entry.name.endsWith('.mocks.json'))
    .map(({ parentPath, name }) => relative(EXAMPLES, join(parentPath, name)));

  it.each(workflows)('%s has no diagnostics except for types that need a mock', async (file) => {
    const { stdout } = await runHeddle(['check', '--json', `${EXAMPLES}/${file}`]);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; blockId: string }[] };
    const otherDiagnostics = diagnostics.filter(({ code }) => code !== 'BLOCK_TYPE_UNKNOWN');
    expect(otherDiagnostics).toEqual([]);
  });

  it('order-triage: runs offline, unchanged', async () => {
    expect(await runExample('order-triage.json')).toMatchObject({
      status: 200,
      data: {
        orderId: 'A-1001',
        decision: 'review',
        subtotal: 213.6,
        reasons: ['stock: More than 30 of COASTER'],
        lines: [
          { sku: 'MUG-BLUE', amount: 102.6 },
          { sku: 'TEAPOT', amount: 48 },
          { sku: 'COASTER', amount: 63 },
        ],
      },
    });
  });

  it('order-triage: ships a small order, refuses an order without items', async () => {
    const smallOrder = '{"orderId": "B", "items": [{"sku": "MUG", "quantity": 2, "price": 9.5}]}';
    expect(await runExample('order-triage.json', '--input', smallOrder)).toMatchObject({
      data: { decision: 'ship', subtotal: 19 },
    });
    expect(await runExample('order-triage.json', '--input', '{"items": []}')).toMatchObject({
      status: 422,
      data: { decision: 'refuse', reasons: ['The order has no items.'] },
    });
  });

  it('approval: waits for a person, then books the approved claim', async () => {
    const cwd = createDataFolder();
    const firstRun = await runHeddle(['run', `${EXAMPLES}/approval.json`], { cwd });
    expect(firstRun.exitCode).toBe(3);
    const [, command] = /→ heddle (runs resume \w+)/.exec(firstRun.stderr)!;
    const { exitCode, stdout } = await runHeddle([...command!.split(' '), '--input', '{"approved": true}'], {
      cwd,
    });
    expect(JSON.parse(stdout)).toMatchObject({ result: { status: 'booked', amount: 369.9 } });
    expect(exitCode).toBe(0);
  });

  it('approval: pays small claims without an approval', async () => {
    const smallClaim = '{"receipts": [{"what": "Tea", "amount": 3.5}]}';
    expect(await runExample('approval.json', '--input', smallClaim)).toMatchObject({
      result: { status: 'booked', amount: 3.5 },
    });
  });

  it('cold-room: Python finds the outliers, JavaScript reports them', async () => {
    expect(await runExample('cold-room.json')).toMatchObject({
      result: 'Mean 6.15 °C until 2026-02-06; outliers: 2026-02-04 (12.6 °C)',
    });
  });

  it('support-agent: runs with a scripted model and a mocked chat', async () => {
    const mockArgs = ['--mocks', `${EXAMPLES}/support-agent.mocks.json`];
    expect(await runExample('support-agent.json', ...mockArgs)).toMatchObject({
      result: { topic: 'Sign-in', urgency: 'urgent', alertTimestamp: '1767225600.000100', draft: null },
    });
  });

  it('refund-agent: one process asks for the approval, and another makes the refund', async () => {
    const server = await startModelServer(({ body, number }) => {
      if (number === 1)
        return { toolCalls: ORDER_IDS.map((order) => ({ name: 'look_up_order', args: { order } })) };
      if (number === 2)
        return { toolCalls: ORDER_IDS.map((order) => ({ name: 'refund', args: { order, amount: 48 } })) };
      return { text: JSON.stringify(body).includes('The mug is fine.') ? 'One refund.' : 'Two refunds.' };
    });
    onTestFinished(() => server.close());
    const modelArgs = ['--service', `openai=${server.services.openai}`, '--credential', 'openai=key'];
    const cwd = createDataFolder();
    const pausedRun = await runHeddle(['run', `${EXAMPLES}/refund-agent.json`, ...modelArgs], { cwd });
    expect(pausedRun.stderr).toContain('Support waits for the approval of calls');
    expect(pausedRun.stderr).toMatch(/2\.1 +refund +{"order":"A-1001","amount":48}/);
    expect(pausedRun.stderr).toMatch(/2\.2 +refund +{"order":"A-1002","amount":48}/);
    expect(pausedRun.exitCode).toBe(3);
    const [, resumeCommand] = /→ heddle (runs resume \w+) --approve all/.exec(pausedRun.stderr)!;
    const answerArgs = ['--approve', '2.1', '--deny', '2.2', '--reason', 'The mug is fine.'];
    const { exitCode, stdout } = await runHeddle(
      [...resumeCommand!.split(' '), ...answerArgs, ...modelArgs],
      {
        cwd,
      },
    );
    expect(JSON.parse(stdout)).toMatchObject({
      content: 'One refund.',
      toolCalls: {
        list: [
          { name: 'look_up_order', result: { item: 'Teapot' } },
          { name: 'look_up_order', result: { item: 'Mug' } },
          { result: { order: 'A-1001', refunded: 48 }, approval: { decision: 'approve' } },
          { success: false, approval: { decision: 'deny', reason: 'The mug is fine.' } },
        ],
      },
    });
    expect(exitCode).toBe(0);
    expect(server.requests).toHaveLength(3);
  });

  it('nested-batches: runs loops in a parallel in a loop', async () => {
    const { result } = (await runExample('nested-batches.json', '--input', '{"batchSize": 4}')) as {
      result: string[];
    };
    expect(result).toHaveLength(7);
    expect(result[0]).toBe('1.1 Aachen: 3 iterations, error 0.75');
    expect(result.at(-1)).toBe('2.3 Gera: 2 iterations, error 1');
  });

  it('error-handling: retries, continues at an error port, collects errors', async () => {
    const { stdout, stderr, exitCode } = await runHeddle(['run', `${EXAMPLES}/error-handling.json`], {
      cwd: createDataFolder(),
    });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      result: {
        rate: { source: 'yesterday' },
        read: ['news', 'weather'],
        failed: [expect.stringContaining('nonsense')],
      },
    });
    expect(stderr).toContain('↻ Exchange Rates');
    expect(stderr).toContain('failed; continues at its error port');
    expect(stderr).toContain('failed; collected');
  });

  it('child-workflow: prices every product in a separate workflow', async () => {
    const folder = `${EXAMPLES}/child-workflow`;
    expect(await runExample('child-workflow/quote.json', '--workflows', folder)).toMatchObject({
      result: { total: 1376 },
    });
  });
});

describe('the programs that embed the engine', () => {
  const run = promisify(execFile);

  it.each([
    ['embed/embed.ts', 10, '"orderId": "B-2002"'],
    ['custom-block/shout.ts', 15, '"said":"HELLO WEAVER!HELLO WEAVER!HELLO WEAVER!"'],
  ])('%s prints the expected output, in at most %d lines of code', async (file, maxLines, output) => {
    const path = `${EXAMPLES}/${file}`;
    const code = readFileSync(path, 'utf8')
      .trimEnd()
      .replaceAll(/^\/\/.*\n/gm, '');
    expect(code.split('\n').length).toBeLessThanOrEqual(maxLines);
    const { stdout, stderr } = await run(process.execPath, [path], { cwd: createDataFolder() });
    expect(stdout).toContain(output);
    expect(stderr).toBe('');
  });
});

import { blocks, describeBlocks } from '@heddle/blocks';
import { describe, expect, it } from 'vitest';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { main } from '../main.ts';

async function heddle(...argv: string[]) {
  const io = createRecordingIo();
  const exitCode = await main(['blocks', ...argv], io);
  return { exitCode, stdout: io.stdout.text, stderr: io.stderr.text };
}

const descriptions = await describeBlocks();

describe('heddle blocks', () => {
  it('lists every type with a summary, in alphabetical order', async () => {
    const { exitCode, stdout } = await heddle('list');
    expect(exitCode).toBe(0);
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '');
    expect(types).toEqual(types.toSorted((one, other) => (one < other ? -1 : 1)));
    expect(types).toEqual(expect.arrayContaining(blocks().flatMap((executor) => executor.types)));
    expect(stdout).toMatch(/^router_v2 +Lets a model choose one of several routes\.$/m);
    const { data } = JSON.parse((await heddle('list', '--json')).stdout) as { data: { type: string }[] };
    expect(data.map(({ type }) => type)).toEqual(types);
  });

  it('shows fields and outputs', async () => {
    const { exitCode, stdout } = await heddle('show', 'router_v2');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^router_v2 {2}Lets a model choose/);
    expect(stdout).toMatch(/^ {2}routes +array, required +The routes\.$/m);
    expect(stdout).toMatch(/^ {2}temperature +number +/m);
    expect(stdout).toMatch(/^ {2}selectedRoute +string +Id of the chosen route\.$/m);
  });

  it.each(descriptions.map(({ type }) => type))('prints the schemas of %s', async (type) => {
    const schema = JSON.parse((await heddle('show', type, '--json-schema')).stdout) as object;
    expect(schema).toMatchObject({ $schema: expect.any(String) as string, title: type, type: 'object' });
    const { data } = JSON.parse((await heddle('show', type, '--json')).stdout) as { data: object };
    expect(data).toMatchObject({ type, fields: { type: 'object' }, outputs: { type: 'object' } });
  });

  it('suggests a similar type for an unknown type', async () => {
    const { exitCode, stderr } = await heddle('show', 'agnet');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('There is no block of the type "agnet".');
    expect(stderr).toContain('Did you mean "agent"?');
    expect((await heddle('show', 'wormhole')).stderr).toContain('heddle blocks list');
  });

  it('explains why a block type of exported workflows is not supported', async () => {
    const { exitCode, stderr } = await heddle('show', 'table');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('does not run blocks of the type "table": Heddle stores no tables.');
  });
});

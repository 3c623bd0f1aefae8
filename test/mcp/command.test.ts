import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocks } from '@heddle/blocks';
import type { BlocksOptions } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { block, workflow } from '../support/workflow.ts';

const SERVER_SCRIPT = fileURLToPath(new URL('../support/mcp-stdio.ts', import.meta.url));

const COMMAND = [process.execPath, SERVER_SCRIPT, '/dev/null'] as const;

/**
 * Calls the tool `process_info` of an MCP server with this configuration. The tool returns the arguments, environment
 * and working directory with which its process was started.
 */
async function callProcessInfoTool(
  serverConfiguration: NonNullable<BlocksOptions['mcp']>[string],
  fields: JsonObject = {},
) {
  const engine = await createEngine({ blocks: blocks({ mcp: { local: serverConfiguration } }) });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const mcpBlock = block('B', 'mcp', { server: 'local', tool: 'process_info', ...fields });
  return engine.execute({ workflow: workflow([mcpBlock], ['Start -> B']) });
}

/** Returns a command that starts a stdio server, and a function that reads the ids of its processes. */
function createStdioCommand() {
  const pidFile = join(createDataFolder(), 'pids');
  return {
    command: [process.execPath, SERVER_SCRIPT, pidFile, 'one argument', '$(id)'] as const,
    readPids: () => readFileSync(pidFile, 'utf8').trim().split('\n').map(Number),
  };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a stdio server starts without a shell and with an empty environment, and ends with the run', async () => {
  const { command, readPids } = createStdioCommand();
  const result = await callProcessInfoTool({ command });
  expect(result).toMatchObject({ status: 'completed' });
  const [{ text }] = (result.output as { content: [{ text: string }] }).content;
  expect(JSON.parse(text)).toEqual({ args: ['one argument', '$(id)'], env: [], cwd: '/' });
  await expect.poll(() => readPids().filter(isAlive)).toEqual([]);
});

it('a stdio server runs as one process for each run, and is started again after it has exited', async () => {
  const { command, readPids } = createStdioCommand();
  const alivePids: number[][] = [];
  const killExecutor = {
    types: ['kill'],
    class: 'effect' as const,
    execute: async () => {
      // The client may have started other processes to detect the protocol revision.
      alivePids.push(readPids().filter(isAlive));
      for (const pid of alivePids.flat()) process.kill(pid);
      await expect.poll(() => alivePids.flat().filter(isAlive)).toEqual([]);
      return { output: {} };
    },
  };
  const engine = await createEngine({ blocks: [...blocks({ mcp: { local: { command } } }), killExecutor] });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const processInfoBlock = (name: string) => block(name, 'mcp', { server: 'local', tool: 'process_info' });
  const killingWorkflow = workflow(
    [processInfoBlock('A'), processInfoBlock('B'), block('Kill', 'kill', {}), processInfoBlock('C')],
    ['Start -> A -> B -> Kill -> C'],
  );
  expect(await engine.execute({ workflow: killingWorkflow })).toMatchObject({ error: null });
  expect(alivePids).toEqual([[expect.any(Number)]]);
  expect(readPids().at(-1)).not.toBe(alivePids[0]?.[0]);
  await expect.poll(() => readPids().filter(isAlive)).toEqual([]);
});

it('a stdio server gets the environment variables that the operator has set', async () => {
  const { command } = createStdioCommand();
  const result = await callProcessInfoTool({ command, env: { LEVEL: 'low' } });
  expect(JSON.stringify(result.output)).toContain(String.raw`\"env\":[\"LEVEL\"]`);
});

it.each<[string, string, NonNullable<BlocksOptions['mcp']>[string], JsonObject]>([
  ['a tool that the operator does not allow', 'MCP_TOOL_UNKNOWN', { command: COMMAND, tools: ['other'] }, {}],
  ['a command without an absolute path', 'MCP_FAILED', { command: ['node', SERVER_SCRIPT] }, {}],
  ['a command that does not exist', 'MCP_FAILED', { command: ['/nonexistent/program'] }, {}],
  [
    'a workflow that names a program as its server',
    'MCP_SERVER_UNKNOWN',
    {},
    { server: process.execPath, command: [process.execPath] },
  ],
  [
    'a workflow that sets the command of a server',
    'MCP_SERVER_UNKNOWN',
    {},
    { command: [process.execPath, SERVER_SCRIPT] },
  ],
])('an mcp block fails for %s', async (_title, code, serverConfiguration, fields) => {
  expect(await callProcessInfoTool(serverConfiguration, fields)).toMatchObject({
    status: 'failed',
    error: { code },
  });
});

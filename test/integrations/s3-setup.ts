import { fork } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { isInstalled, isRequired, getTool } from '../tools/fetch.ts';
import type { ToolSearchResult } from '../tools/fetch.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the file with the `ToolSearchResult` for the S3 server; set only if the run builds the server. */
    s3: string;
  }
}

const TOOL_NAME = 'versitygw';
const FETCH_SCRIPT = fileURLToPath(new URL('../tools/fetch-in-background.ts', import.meta.url));

/** Returns whether this run has to build the S3 server: whether it requires a server and none is installed. */
export function hasToBuildS3({ isFull }: { isFull: boolean }): boolean {
  return !isInstalled(TOOL_NAME, getTool(TOOL_NAME)) && (isFull || isRequired(TOOL_NAME));
}

/**
 * Builds the S3 server, which takes minutes, in the background while other tests run. Vitest calls this only if the run
 * includes the tests of S3 and has to build the server.
 */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-s3-tool-'));
  const file = join(folder, 'search.json');
  project.provide('s3', file);
  const onEnd = (result: ToolSearchResult): void => {
    writeFileSync(`${file}.new`, JSON.stringify(result));
    renameSync(`${file}.new`, file);
  };
  const stop = fetchTool(onEnd);
  return () => {
    stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Calls `onEnd` with the tool, or with the reason why there is none. Returns a function that stops fetching it. */
function fetchTool(onEnd: (result: ToolSearchResult) => void): () => void {
  const child = fork(FETCH_SCRIPT, [TOOL_NAME], { execArgv: ['--no-warnings'] });
  let isOver = false;
  const end = (result: ToolSearchResult): void => {
    if (!isOver) onEnd(result);
    isOver = true;
  };
  child.once('message', (result) => end(result as ToolSearchResult));
  child.once('error', (error) => end({ reason: `${TOOL_NAME} was not fetched: ${error.message}` }));
  child.once('exit', (code, signal) =>
    end({ reason: `${TOOL_NAME} was not fetched: it ended with ${code ?? signal}` }),
  );
  return () => {
    isOver = true;
    child.kill();
  };
}

import { fork } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { isAtHand, isRequired, toolNamed } from '../tools/fetch.ts';
import type { Search } from '../tools/fetch.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the file for the result of the `Search` for the server of S3; only if the server is built during the run. */
    s3: string;
  }
}

const NAME = 'versitygw';
const FETCH = fileURLToPath(new URL('../tools/fetch-in-background.ts', import.meta.url));

/** Returns whether the server of S3 has to be built first, because it is not installed and this run requires it. */
export function hasToBuildS3({ isFull }: { isFull: boolean }): boolean {
  return !isAtHand(NAME, toolNamed(NAME)) && (isFull || isRequired(NAME));
}

/**
 * Builds the server of S3, which takes minutes, in the background while other tests run. Vitest calls this only if the run
 * includes the tests of S3 and the server has to be built.
 */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-s3-tool-'));
  const file = join(folder, 'search.json');
  project.provide('s3', file);
  const onEnd = (search: Search): void => {
    writeFileSync(`${file}.new`, JSON.stringify(search));
    renameSync(`${file}.new`, file);
  };
  const stop = fetched(onEnd);
  return () => {
    stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Calls `onEnd` with the tool, or with the reason why none was found. Returns a function that stops the search. */
function fetched(onEnd: (search: Search) => void): () => void {
  const child = fork(FETCH, [NAME], { execArgv: ['--no-warnings'] });
  let isOver = false;
  const end = (search: Search): void => {
    if (!isOver) onEnd(search);
    isOver = true;
  };
  child.once('message', (search) => end(search as Search));
  child.once('error', (error) => end({ reason: `${NAME} was not fetched: ${error.message}` }));
  child.once('exit', (code, by) => end({ reason: `${NAME} was not fetched: it ended with ${code ?? by}` }));
  return () => {
    isOver = true;
    child.kill();
  };
}

import { join } from 'node:path';
import type { Installer } from './cache.ts';
import { type Env, findOnPath, runCommand } from './command.ts';

/** A build takes three to five minutes on two free cores, and much longer on a slow machine. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const REPORT_INTERVAL_MS = 30_000;

/**
 * Returns an installer that builds the Temporal CLI with Go from the module proxy. `log` gets a line before the build,
 * every half minute during the build, and after its success.
 */
export function createGoInstaller(version: string, env: Env, log: (line: string) => void): Installer {
  return async (scratchFolder) => {
    const go = findOnPath('go', env);
    if (!go) return { problem: 'go is not on PATH' };
    log(
      `No Temporal server found: building ${version} with ${go}. ` +
        'This takes 3 to 5 minutes, once: the result is cached.',
    );
    const startMs = performance.now();
    const reportProgress = () => log(`Still building Temporal: ${formatElapsed(startMs)}.`);
    const timer = setInterval(reportProgress, REPORT_INTERVAL_MS);
    try {
      const result = await runCommand(go, installArgs(version), {
        cwd: scratchFolder,
        env: { ...env, ...HOST_BUILD_ENV, GOBIN: join(scratchFolder, 'bin') },
        timeoutMs: BUILD_TIMEOUT_MS,
      });
      if (result.problem !== undefined) return { problem: result.problem };
    } finally {
      clearInterval(timer);
    }
    log(`Built Temporal in ${formatElapsed(startMs)}.`);
    return { file: join(scratchFolder, 'bin', 'temporal') };
  };
}

/** `-s -w` omits the symbol tables: a third of the file. */
function installArgs(version: string): string[] {
  return ['install', '-ldflags=-s -w', `github.com/temporalio/cli/cmd/temporal@${version}`];
}

/** Variables that make Go build for this machine, even if the environment sets another target, and without cgo. */
const HOST_BUILD_ENV = { GOFLAGS: '', GOOS: '', GOARCH: '', GOWORK: 'off', CGO_ENABLED: '0' };

function formatElapsed(startMs: number): string {
  return `${Math.round((performance.now() - startMs) / 1000)} s`;
}

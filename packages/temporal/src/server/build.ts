import { join } from 'node:path';
import type { Maker } from './cache.ts';
import { type Env, onPath, runCommand } from './command.ts';

/** Slow machines and cold module caches: a build on two free cores takes three to five minutes. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const REPORT_MS = 30_000;

/**
 * A maker that builds Temporal's command with Go, from the module proxy.
 *
 * `say` is told before the build and every half a minute of it, since a silence of minutes looks like a hang.
 */
export function goMaker(version: string, env: Env, say: (line: string) => void): Maker {
  return async (scratch) => {
    const go = onPath('go', env);
    if (!go) return { problem: 'there is no go on PATH to build it with' };
    say(
      `Building Temporal's development server ${version} with ${go}, because none was found. ` +
        'This takes 3 to 5 minutes, once: it is kept in the cache folder.',
    );
    const since = performance.now();
    const timer = setInterval(() => say(`Still building Temporal: ${elapsed(since)}.`), REPORT_MS);
    try {
      const ended = await runCommand(go, installArgs(version), {
        cwd: scratch,
        env: { ...env, ...hostBuild, GOBIN: join(scratch, 'bin') },
        timeoutMs: BUILD_TIMEOUT_MS,
      });
      if (ended.problem !== undefined) return { problem: ended.problem };
    } finally {
      clearInterval(timer);
    }
    say(`Built Temporal in ${elapsed(since)}.`);
    return { made: join(scratch, 'bin', 'temporal') };
  };
}

/** `-s -w` leaves the debugger's tables out: a third of the file. */
function installArgs(version: string): string[] {
  return ['install', '-ldflags=-s -w', `github.com/temporalio/cli/cmd/temporal@${version}`];
}

/** For this machine, whatever the user builds other programs for; without a C compiler, which nothing in it needs. */
const hostBuild = { GOFLAGS: '', GOOS: '', GOARCH: '', GOWORK: 'off', CGO_ENABLED: '0' };

function elapsed(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}

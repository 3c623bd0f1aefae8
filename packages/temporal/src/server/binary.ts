import { type Env, runCommand } from './command.ts';

/** A `temporal` command that runs here. */
export interface Binary {
  /** Absolute path of the executable. */
  readonly path: string;
  /** Version of the server inside it, as it says it: `1.27.1`. */
  readonly serverVersion: string;
}

/** The binary, or why it can't be used. */
export type Probe =
  | { readonly binary: Binary; readonly problem?: undefined }
  | { readonly binary?: undefined; readonly problem: string };

/** A first start reads 140 MB from disk. */
const PROBE_TIMEOUT_MS = 60_000;

/** The binary at `path` after asking it for its version, or why it can't be used. */
export async function probeBinary(path: string, env: Env): Promise<Probe> {
  const ended = await runCommand(path, ['--version'], { env, timeoutMs: PROBE_TIMEOUT_MS });
  if (ended.problem !== undefined) return ended;
  const serverVersion = /^temporal version .*\(Server ([^,)]+)/m.exec(ended.out)?.[1];
  return serverVersion === undefined
    ? {
        problem: `${path} is not Temporal's command: asked for its version, it says "${firstLine(ended.out)}"`,
      }
    : { binary: { path, serverVersion } };
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 120) ?? '';
}

import type { Engine, EngineOptions } from '@heddle/engine';
import { blockImages } from './block-images.ts';
import { blockOptions } from './block-options.ts';
import type { BlockOptions } from './block-options.ts';
import type { Io } from './io.ts';
import { isOnTemporal } from './place.ts';
import type { PlaceOptions } from './place.ts';
import type { Ownership } from './serve/api-store.ts';
import { safe, styleFor } from './render/style.ts';

/** What an engine of the command line is opened with. */
export interface SessionOptions extends PlaceOptions, BlockOptions {
  env: { [name: string]: string };
  /** Of the local runtime: go on with the open runs of the folder, or with those in the database that nobody has. */
  takeUp: boolean;
  /** Which workflows may run which, whose they are, and their environments; default: all, nobody's, and `env`. */
  ownership?: Ownership;
}

/** An engine, with what it holds open. */
export interface Session {
  readonly engine: Engine;
  close(): Promise<void>;
}

/** An engine on the data folder, on a database, or on Temporal. Throws DATA_LOCKED, DATA_UNREACHABLE, RUNTIME_UNREACHABLE, ISOLATION_TOO_LOW. */
export async function openSession(io: Io, options: SessionOptions): Promise<Session> {
  const { env, ownership = {}, isolation } = options;
  const blocks = await blockOptions(options);
  const where = isOnTemporal(options) ? { runtime: await temporalRuntime(options) } : hereOf(options);
  const { createEngine } = await import('@heddle/engine');
  const images = blockImages(options.data, isolation);
  const engine = await createEngine({
    ...where,
    ...blocks,
    env,
    images,
    onError: reporter(io),
    ...ownership,
  });
  return {
    engine,
    async close() {
      await engine.close();
      await images.close();
    },
  };
}

/** This process, over its folder or among those that share a database. */
function hereOf({ data, postgres, takeUp }: SessionOptions): Partial<EngineOptions> {
  return postgres === undefined ? { data, takeUp } : { postgres: { url: postgres }, takeUp };
}

/** Opens an engine, hands it to `use`, and closes it whatever happens. Throws what `openSession` throws. */
export async function withEngine<T>(
  io: Io,
  options: SessionOptions,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const session = await openSession(io, options);
  try {
    return await use(session.engine);
  } finally {
    await session.close();
  }
}

async function temporalRuntime(options: PlaceOptions): Promise<NonNullable<EngineOptions['runtime']>> {
  const { runtimeOf } = await import('./temporal/runtime-of.ts');
  return runtimeOf(options);
}

/** Says what went wrong in the background, and reaches no caller. */
export function reporter(io: Io): NonNullable<EngineOptions['onError']> {
  const style = styleFor(io.stderr);
  return (error, runId) => {
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(`${style.yellow('!')} ${runId === undefined ? '' : `run ${runId}: `}${safe(message)}\n`);
  };
}

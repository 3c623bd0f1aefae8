import type { Engine, EngineOptions } from '@heddle/engine';
import type { Io } from './io.ts';
import { safe, styleFor } from './render/style.ts';

/** What an engine of the command line is opened with. */
export interface SessionOptions {
  data: string;
  env: { [name: string]: string };
  takeUp: boolean;
}

/** Opens an engine on the data folder, hands it to `use`, and closes it whatever happens. Throws DATA_LOCKED. */
export async function withEngine<T>(
  io: Io,
  options: SessionOptions,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const { createEngine } = await import('@heddle/engine');
  const engine = await createEngine({ ...options, onError: reporter(io) });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

/** Says what went wrong in the background, and reaches no caller. */
function reporter(io: Io): NonNullable<EngineOptions['onError']> {
  const style = styleFor(io.stderr);
  return (error, runId) => {
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(`${style.yellow('!')} ${runId === undefined ? '' : `run ${runId}: `}${safe(message)}\n`);
  };
}

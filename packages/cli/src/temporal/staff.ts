import type { Role, ServerOptions } from '@heddle/temporal';
import { reporter } from '../engine-session.ts';
import type { Io } from '../io.ts';
import type { StoreOptions } from '../place.ts';

/** What a process of workers is made of. */
export interface StaffOptions extends StoreOptions {
  server: ServerOptions;
  queue: string;
  env: { [name: string]: string };
  roles: readonly Role[];
}

export interface Staff {
  /** Begins nothing new, lets blocks go on for so many milliseconds, and resolves when all have stopped. */
  stop: (graceMs: number) => Promise<void>;
  /** Resolves, with the reason, when they cannot go on. */
  broken: Promise<string>;
}

/** The workers of this process, once they ask for work. Throws RUNTIME_UNREACHABLE, DATA_LOCKED and what the stores throw. */
export async function startStaff(
  io: Io,
  { server, queue, env, roles, data, postgres }: StaffOptions,
): Promise<Staff> {
  const [{ createEngine }, { temporal }] = await Promise.all([
    import('@heddle/engine'),
    import('@heddle/temporal'),
  ]);
  const stores = postgres === undefined ? { data } : { postgres };
  const engine = await createEngine({
    runtime: temporal({ ...server, ...stores, queue, worker: { roles } }),
    env,
    onError: reporter(io),
  });
  return { stop: (graceMs) => engine.close({ graceMs }), broken: new Promise(() => undefined) };
}

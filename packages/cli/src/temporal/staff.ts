import type { IsolationLevel } from '@heddle/sandbox';
import type { HeddleWorker, Role, ServerOptions } from '@heddle/temporal';
import { reporter } from '../engine-session.ts';
import type { Io } from '../io.ts';
import type { StoreOptions } from '../place.ts';

/** What a process of workers is made of. */
export interface StaffOptions extends StoreOptions {
  server: ServerOptions;
  queue: string;
  env: { [name: string]: string };
  /** Default: all. */
  roles?: readonly Role[] | undefined;
  /** Where questions about its health are answered. */
  health?: { host: string; port: number } | undefined;
  /** The level below which no code runs. */
  isolation?: IsolationLevel | undefined;
}

/** The worker of this process, once it asks for work. Throws RUNTIME_UNREACHABLE, DATA_LOCKED, OPTIONS_INVALID, ISOLATION_TOO_LOW and what the stores throw. */
export async function startStaff(
  io: Io,
  { server, queue, env, roles, health, isolation, data, postgres }: StaffOptions,
): Promise<HeddleWorker> {
  const { createWorker } = await import('@heddle/temporal');
  return createWorker({
    ...server,
    ...(postgres === undefined ? { data } : { postgres }),
    queue,
    env,
    ...(roles && { tuning: { roles } }),
    ...(health && { http: health }),
    ...(isolation && { sandbox: { isolation: { minimum: isolation } } }),
    onError: reporter(io),
  });
}

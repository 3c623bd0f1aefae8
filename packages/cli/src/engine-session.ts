import type { Engine, EngineOptions } from '@heddle/engine';
import { createBlockImages } from './block-images.ts';
import type { BlockImages, OwnedImages } from './block-images.ts';
import { blockEngineOptions } from './block-options.ts';
import type { BlockOptions } from './block-options.ts';
import type { Io } from './io.ts';
import { isOnTemporal } from './store-options.ts';
import type { RuntimeOptions } from './store-options.ts';
import type { TenantPorts } from './serve/service-store.ts';
import type { WorkspaceResources } from './workspace-resources.ts';
import { sanitize, styleFor } from './render/style.ts';

/** Options of an engine for a command. */
export interface SessionOptions extends RuntimeOptions, BlockOptions {
  env: { [name: string]: string };
  /** True to continue the open runs of the data folder, or those in the database without an owner. */
  recover: boolean;
  /** Owners and environments of workflows; default: no owners, and `env` for all. */
  tenantPorts?: TenantPorts;
  /** Trigger types that this process fires: deploying warns about other types. Default: triggers are not checked. */
  triggers?: NonNullable<EngineOptions['triggers']>;
  /** Returns the URLs at which people answer pauses. Default: none. */
  pauseLinks?: NonNullable<EngineOptions['pauseLinks']>;
  /** Returns images that replace those of the data folder for blocks. */
  connectImages?: (images: BlockImages) => OwnedImages;
  /** True to delete unused images in the background. */
  deletesUnusedImages?: boolean;
}

/** An open engine with its images. */
export interface Session {
  readonly engine: Engine;
  /** The hosts to which blocks may connect, and the base URLs of services. */
  readonly network: Required<Pick<EngineOptions, 'egress' | 'services'>>;
  close(): Promise<void>;
}

/**
 * Opens an engine on the data folder, on a database, or on Temporal. Throws DATA_LOCKED, DATA_UNREACHABLE,
 * RUNTIME_UNREACHABLE, ISOLATION_TOO_LOW.
 */
export async function openSession(io: Io, options: SessionOptions): Promise<Session> {
  const { env, isolation } = options;
  const onError = errorReporter(io);
  const blockOptions = await blockEngineOptions(options);
  const runtimeOptions = isOnTemporal(options)
    ? { runtime: await temporalRuntime(options) }
    : localRuntimeOptions(options);
  const { createEngine } = await import('@heddle/engine');
  const images = createBlockImages(options.data, isolation);
  const ownedImages = options.connectImages?.(images);
  const resources =
    options.workspace === undefined ? undefined : await openResources(io, options, options.workspace);
  const engine = await createEngine({
    ...runtimeOptions,
    ...blockOptions,
    env,
    images: ownedImages ?? images,
    onError,
    ...(options.triggers && { triggers: options.triggers }),
    ...(options.pauseLinks && { pauseLinks: options.pauseLinks }),
    ...options.tenantPorts,
    ...(resources && { tenantCredentials: resources.credentials, tenantSkills: resources.skills }),
  });
  if (options.deletesUnusedImages) images.collectGarbageRepeatedly(onError, { ownedImages });
  return {
    engine,
    network: { egress: blockOptions.egress, services: blockOptions.services },
    async close() {
      await engine.close();
      await images.close();
      await resources?.close();
    },
  };
}

async function openResources(
  io: Io,
  options: SessionOptions,
  workspace: string,
): Promise<WorkspaceResources> {
  const { openWorkspaceResources } = await import('./workspace-resources.ts');
  return openWorkspaceResources(options, workspace, errorReporter(io));
}

/** Returns options for runs in this process, on a data folder or a shared database. */
function localRuntimeOptions({ data, postgres, recover }: SessionOptions): Partial<EngineOptions> {
  return postgres === undefined ? { data, recover } : { postgres: { url: postgres }, recover };
}

/** Calls `use` with an engine and closes it afterwards. Throws errors of `openSession`. */
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

async function temporalRuntime(options: RuntimeOptions): Promise<NonNullable<EngineOptions['runtime']>> {
  const { runtimeOf } = await import('./temporal/runtime.ts');
  return runtimeOf(options);
}

/** Returns a function that prints errors of background work, which reach no caller. */
export function errorReporter(io: Io): (error: unknown, runId?: string) => void {
  const style = styleFor(io.stderr);
  return (error, runId) => {
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(
      `${style.yellow('!')} ${runId === undefined ? '' : `run ${runId}: `}${sanitize(message)}\n`,
    );
  };
}

import type { Clock } from '@heddle/core';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { connect, DEFAULT_NAMESPACE } from './connection.ts';
import { dataConverterOf } from './encryption.ts';
import type { OnDecryptError } from './encryption.ts';
import type { Profile } from './messages.ts';
import { profileOf, queuesOf } from './options.ts';
import type { DeploymentOptions, ProcessRole, ServerOptions, StoreLocation } from './options.ts';
import { hasSearchAttributes } from './register-attributes.ts';

/** An open connection to a deployment, shared by the workers and clients of one process. */
export interface DeploymentConnection {
  connection: NativeConnection;
  namespace: string;
  client: Client;
  dataConverter: DataConverter;
  profile: Profile;
  queues: { [role in ProcessRole]: string };
}

/**
 * Connects to a deployment. `onDecryptError`: called for payloads that workers cannot decrypt. Throws
 * RUNTIME_UNREACHABLE, OPTIONS_INVALID.
 */
export async function connectToDeployment(
  options: ServerOptions & DeploymentOptions,
  onDecryptError: OnDecryptError,
): Promise<DeploymentConnection> {
  const { namespace = DEFAULT_NAMESPACE, encryption, taskQueue } = options;
  const dataConverter = dataConverterOf(encryption, onDecryptError);
  const connection = await connect(options);
  try {
    const hasAttributes = options.searchAttributes ?? (await hasSearchAttributes(connection, namespace));
    return {
      connection,
      namespace,
      client: new Client({ connection, namespace, dataConverter: dataConverterOf(encryption) }),
      dataConverter,
      profile: profileOf(options, hasAttributes),
      queues: queuesOf(taskQueue),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Returns the stores of a deployment. Stores that the host has opened stay open on `close`. */
export async function openSharedStores(
  options: StoreLocation,
  clock: Clock | undefined,
): Promise<SharedStores> {
  if ('stores' in options) return { ...options.stores, close: () => undefined };
  if ('postgres' in options) return openPostgres({ url: options.postgres });
  return openStores({ data: options.data, shared: true, clock });
}

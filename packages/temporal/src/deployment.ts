import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { areRegistered } from './attributes.ts';
import { connect, DEFAULT_NAMESPACE } from './connection.ts';
import { dataConverterOf } from './encryption.ts';
import type { OnSealed } from './encryption.ts';
import type { Profile } from './messages.ts';
import { profileOf, queuesOf } from './options.ts';
import type { DeploymentOptions, Role, ServerOptions } from './options.ts';

/** A deployment on its server, as workers and clients of one process share it. */
export interface Deployment {
  connection: NativeConnection;
  namespace: string;
  client: Client;
  dataConverter: DataConverter;
  profile: Profile;
  queues: { [role in Role]: string };
}

/** The deployment that the options name, connected. `onSealed`: told of data that cannot be decrypted. Throws RUNTIME_UNREACHABLE, OPTIONS_INVALID. */
export async function openDeployment(
  options: ServerOptions & DeploymentOptions,
  onSealed: OnSealed,
): Promise<Deployment> {
  const { namespace = DEFAULT_NAMESPACE, encryption, queue } = options;
  const dataConverter = dataConverterOf(encryption, onSealed);
  const connection = await connect(options);
  try {
    const attributes = options.attributes ?? (await areRegistered(connection, namespace));
    return {
      connection,
      namespace,
      client: new Client({ connection, namespace, dataConverter: dataConverterOf(encryption) }),
      dataConverter,
      profile: profileOf(options, attributes),
      queues: queuesOf(queue),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

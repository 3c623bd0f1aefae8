import { POLL_LIMITS } from '../../../packages/temporal/src/server/index.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';

/** Each service has a port for calls and one for membership. */
interface ServicePorts {
  readonly grpcPort: number;
  readonly membershipPort: number;
}

/** The ports of the services; the frontend also serves HTTP. */
export interface ServerPorts extends Readonly<Record<'history' | 'matching' | 'worker', ServicePorts>> {
  readonly frontend: ServicePorts & { readonly httpPort: number };
}

interface ServerConfigOptions {
  readonly ports: ServerPorts;
  readonly postgres: PostgresServer;
  readonly databases: { readonly store: string; readonly visibility: string };
  readonly shardCount: number;
  /** Path of the file with `dynamicConfig()`. */
  readonly dynamicConfigFile: string;
}

/** Returns the configuration of a production server on the loopback address. */
export function serverConfig({
  ports,
  postgres,
  databases,
  shardCount,
  dynamicConfigFile,
}: ServerConfigOptions): object {
  const services = Object.entries(ports).map(([name, rpc]) => [
    name,
    { rpc: { ...rpc, bindOnLocalHost: true } },
  ]);
  const cluster = {
    enabled: true,
    initialFailoverVersion: 1,
    rpcName: 'frontend',
    rpcAddress: `127.0.0.1:${ports.frontend.grpcPort}`,
  };
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'store',
      visibilityStore: 'visibility',
      numHistoryShards: shardCount,
      datastores: {
        store: { sql: sqlDatastore(postgres, databases.store, 20) },
        visibility: { sql: sqlDatastore(postgres, databases.visibility, 5) },
      },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(services) as object,
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: { active: cluster },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    // The file is deleted after the start, so the server must not read it again.
    dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: '24h' },
  };
}

/** Returns the dynamic configuration: higher poll limits. */
export function dynamicConfig(): object {
  return Object.fromEntries(Object.entries(POLL_LIMITS).map(([name, value]) => [name, [{ value }]]));
}

function sqlDatastore(
  { host, port, user, password }: PostgresServer,
  databaseName: string,
  maxConns: number,
): object {
  return {
    pluginName: 'postgres12',
    databaseName,
    connectAddr: `${host}:${port}`,
    connectProtocol: 'tcp',
    user,
    password,
    maxConns,
    maxIdleConns: maxConns,
    maxConnLifetime: '1h',
  };
}

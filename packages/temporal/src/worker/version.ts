import { EngineError } from '@heddle/core';
import type { DeploymentConnection } from '../deployment.ts';
import type { WorkerTuning } from '../options.ts';

export type DeploymentVersion = NonNullable<WorkerTuning['version']>;

/** The server learns of a version from the worker's first polls of its queues. */
const VERSION_CHECK = { attempts: 40, intervalMs: 250 };

/** Returns the SDK's options for a versioned worker. Runs stay on the version that started them. */
export function versioningOptions({ deployment: deploymentName, build: buildId }: DeploymentVersion) {
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'PINNED',
  } as const;
}

/**
 * Resolves when the server knows the version of a polling worker. Throws OPTIONS_INVALID after the last check: a server
 * that does not support worker deployments, or has them disabled, would give the worker neither work nor an error.
 */
export async function waitForVersion(
  { connection, namespace }: Pick<DeploymentConnection, 'connection' | 'namespace'>,
  { deployment: deploymentName, build }: DeploymentVersion,
): Promise<void> {
  let cause: unknown;
  for (let attempt = 0; attempt < VERSION_CHECK.attempts; attempt++) {
    if (await isKnown()) return;
    await new Promise((resolve) => setTimeout(resolve, VERSION_CHECK.intervalMs));
  }
  throw new EngineError(
    'OPTIONS_INVALID',
    `The Temporal server does not accept version ${build} of the worker deployment "${deploymentName}": it does not support worker deployments, or has them disabled. Use a newer server, or leave out "version".`,
    { cause },
  );

  async function isKnown(): Promise<boolean> {
    try {
      const { workerDeploymentInfo: info } = await connection.workflowService.describeWorkerDeployment({
        namespace,
        deploymentName,
      });
      return (
        info?.versionSummaries?.some(({ version, deploymentVersion }) =>
          deploymentVersion ? deploymentVersion.buildId === build : version?.endsWith(`.${build}`),
        ) === true
      );
    } catch (error) {
      // Any error counts as not yet known: the server may not know the deployment, or not support deployments at all.
      cause = error;
      return false;
    }
  }
}

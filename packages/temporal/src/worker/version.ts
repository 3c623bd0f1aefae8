import { EngineError } from '@heddle/core';
import type { Deployment } from '../deployment.ts';
import type { WorkerTuning } from '../options.ts';

export type Version = NonNullable<WorkerTuning['version']>;

/** The server learns of a version from the worker's first polls. */
const POLL = { attempts: 40, everyMs: 250 };

/** Returns the SDK's options for a versioned worker. Runs stay on the version that started them. */
export function versioningOptions({ deployment: deploymentName, build: buildId }: Version) {
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'PINNED',
  } as const;
}

/**
 * Resolves when the server knows the version of a polling worker. Throws OPTIONS_INVALID after the last poll: a server
 * that has no worker deployments, or has them disabled, would give the worker neither work nor an error.
 */
export async function expectVersion(
  { connection, namespace }: Pick<Deployment, 'connection' | 'namespace'>,
  { deployment: deploymentName, build }: Version,
): Promise<void> {
  for (let attempt = 0; attempt < POLL.attempts; attempt++) {
    if (await isKnown()) return;
    await new Promise((resolve) => setTimeout(resolve, POLL.everyMs));
  }
  throw new EngineError(
    'OPTIONS_INVALID',
    `The Temporal server does not accept version ${build} of the worker deployment "${deploymentName}": it has no worker deployments, or they are disabled. Use a newer server, or leave out "version".`,
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
    } catch {
      // The server does not know the deployment yet, or has no worker deployments at all.
      return false;
    }
  }
}

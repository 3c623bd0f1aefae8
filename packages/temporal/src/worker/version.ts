import { EngineError } from '@heddle/core';
import type { Deployment } from '../deployment.ts';
import type { WorkerTuning } from '../options.ts';

export type Version = NonNullable<WorkerTuning['version']>;

/** A server learns of a version from the first questions for work. */
const PATIENCE = { tries: 40, everyMs: 250 };

/** How the SDK is told: a run stays on the version that has begun it. */
export function versioned({ deployment: deploymentName, build: buildId }: Version) {
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'PINNED',
  } as const;
}

/**
 * Resolves when the server knows the version of a worker that polls. Throws OPTIONS_INVALID where it never does: it has no
 * deployments of workers, or they are switched off, and the worker would be given nothing and never told.
 */
export async function expectVersion(
  { connection, namespace }: Pick<Deployment, 'connection' | 'namespace'>,
  { deployment: deploymentName, build }: Version,
): Promise<void> {
  for (let tries = 0; tries < PATIENCE.tries; tries++) {
    if (await isKnown()) return;
    await new Promise((resolve) => setTimeout(resolve, PATIENCE.everyMs));
  }
  throw new EngineError(
    'OPTIONS_INVALID',
    `The Temporal server takes no version ${build} of a worker deployment "${deploymentName}": it has no such deployments, or they are switched off. Use a newer server, or leave out "version".`,
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
      // Not known yet, or for good.
      return false;
    }
  }
}

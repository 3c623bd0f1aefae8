import { createHash, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import type { RunDetail } from '@heddle/engine';
import { publicPrincipal } from '../../auth/authorize.ts';
import { isApiError } from '../../errors.ts';
import type { AreaContext } from '../../context.ts';
import type { Definition } from '../../ports.ts';
import { findRun } from './find.ts';
import type { FoundRun } from './find.ts';
import { submitAnswer } from './resume.ts';

/** The parts of a URL that identify a pause point. */
export interface PausePointRef {
  workflowId: string;
  runId: string;
  token: string;
}

/**
 * Returns the URLs of a pause point: `url` of its page, `resumeEndpoint` for programs. `origin` includes the base path.
 */
export function pauseLinks(
  origin: string,
  { workflowId, runId, token }: PausePointRef,
): { url: string; resumeEndpoint: string } {
  const path = [workflowId, runId, token].map(encodeURIComponent).join('/');
  return { url: `${origin}/resume/${path}`, resumeEndpoint: `${origin}/api/resume/${path}` };
}

/** A pause point that is open. */
export interface OpenPause {
  workflow: Definition;
  foundRun: FoundRun & { run: RunDetail };
  pause: RunDetail['pauses'][number];
}

/** Returns the open pause point that waits for a person and has the token; undefined if there is none. */
export async function findPause(
  services: AreaContext,
  { workflowId, runId, token }: PausePointRef,
): Promise<OpenPause | undefined> {
  const workflow = await services.definitions.find(workflowId);
  if (!workflow || workflow.isArchived === true) return undefined;
  const foundRun = await findRun(services, workflow, runId).catch((error: unknown) => {
    if (isApiError(error) && error.status === 404) return undefined;
    throw error;
  });
  if (!foundRun?.run) return undefined;
  const pause = foundRun.run.pauses.find(
    (candidate) => candidate.kind === 'human' && isSameToken(candidate.token, token),
  );
  return pause && { workflow, foundRun, pause };
}

/** Compares in constant time, so that the time does not reveal where the tokens differ. */
function isSameToken(a: string, b: string): boolean {
  const [hashA, hashB] = [a, b].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(hashA, hashB);
}

/**
 * Answers the pause point for a person who has no credential but knows its token. Resolves when the run has accepted
 * the answer. Throws the run's error if the run refuses the answer.
 */
export async function answerOnPage(
  services: AreaContext,
  { workflow, foundRun, pause }: OpenPause,
  input: JsonObject,
): Promise<void> {
  const { workspaceId } = workflow;
  const event = {
    ...{ action: 'RUN_RESUMED', workspaceId, resourceType: 'run', resourceId: foundRun.runId },
    principal: publicPrincipal(workflow),
  };
  const answer = { token: pause.token, input, userId: null };
  const { nextResult } = await submitAnswer(services, { ...foundRun, workspaceId }, answer);
  nextResult.catch(services.onError);
  await services.audit.record(event);
}

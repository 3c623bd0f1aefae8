import { unlessAborted } from './egress/unless-aborted.ts';
import { isSandboxError } from './error.ts';
import { warnOperator } from './start-failure.ts';
import type { LoadedImage } from './image.ts';
import type { FunctionJob } from './job.ts';
import type { NativeRunners } from './native/runners.ts';
import type { SandboxOptions } from './options.ts';
import { createFailure, type JobErrorCode, type SandboxFailure } from './outcome.ts';
import type { Language, Runner } from './runners.ts';

/** All runners of functions. */
export type AllRunners = Readonly<Record<Language, Runner>> & { readonly native: NativeRunners };

/** The runner and image of a job, or the reason why it cannot run. */
export interface JobRoute {
  readonly runner: Runner;
  readonly image: LoadedImage | undefined;
  readonly refusal: SandboxFailure | undefined;
}

const NO_IMAGE_MESSAGE =
  'A shell script needs an image with the programs that it calls: name one with system packages or command-line tools, or set native.image for all scripts.';

/** Returns the native runner, with a refusal if this host does not confine processes enough. */
async function routeNative(runner: Runner, image: LoadedImage, { native }: AllRunners): Promise<JobRoute> {
  const reason = await native.findRefusal();
  return {
    runner,
    image,
    refusal: reason === undefined ? undefined : createFailure('SANDBOX_UNAVAILABLE', reason),
  };
}

/** Returns the message that an image does not fit the job's code. It names the image as the job does. */
function mismatchMessage(
  image: LoadedImage,
  { image: id = image.id, language = 'javascript' }: FunctionJob,
): string {
  if (language === 'shell' && image.runtime === 'isolate')
    return `The image "${id}" has packages for the isolate, which cannot run shell scripts: name one with system packages or command-line tools.`;
  return `The image "${id}" has packages for ${image.language}, and this code is ${language}.`;
}

async function routeImage(image: LoadedImage, job: FunctionJob, runners: AllRunners): Promise<JobRoute> {
  const { language = 'javascript' } = job;
  if (image.runtime === 'native' && (language === 'shell' || language === image.language))
    return routeNative(runners.native[language], image, runners);
  const runner = language === 'shell' ? runners.native.shell : runners[language];
  if (image.runtime === 'isolate' && image.language === language) {
    await runner.load(image);
    return { runner, image, refusal: undefined };
  }
  return { runner, image: undefined, refusal: createFailure('IMAGE_FAILED', mismatchMessage(image, job)) };
}

/**
 * Returns the runner for a job, chosen by its language and image. If the image cannot be opened, the route has a
 * `refusal`.
 */
export async function routeJob(
  job: FunctionJob,
  { images, native }: SandboxOptions,
  runners: AllRunners,
): Promise<JobRoute> {
  const { language = 'javascript' } = job;
  const isShell = language === 'shell';
  const runner = isShell ? runners.native.shell : runners[language];
  const refuse = (code: JobErrorCode, message: string): JobRoute => ({
    runner,
    image: undefined,
    refusal: createFailure(code, message),
  });
  const id = job.image ?? (isShell ? native?.image : undefined);
  if (id === undefined)
    return isShell
      ? refuse('IMAGE_NOT_FOUND', NO_IMAGE_MESSAGE)
      : { runner, image: undefined, refusal: undefined };
  if (images === undefined)
    return refuse('IMAGE_NOT_FOUND', `The code needs the image ${id}, and this sandbox has no images.`);
  const routePromise = images.open(id, job.tenant).then((image) => routeImage(image, job, runners));
  try {
    return await (job.signal === undefined ? routePromise : unlessAborted(routePromise, job.signal));
  } catch (error) {
    return { runner, image: undefined, refusal: imageOpenFailure(error, job, id) };
  }
}

/**
 * Returns the failure for a job whose image could not be opened. Unexpected errors contain file names and addresses, so
 * only the host sees them.
 */
function imageOpenFailure(error: unknown, { signal }: FunctionJob, id: string): SandboxFailure {
  if (signal?.aborted === true) return createFailure('CANCELLED', 'The job was cancelled.');
  if (isSandboxError(error)) return createFailure(error.code as JobErrorCode, error.message);
  warnOperator(
    `The image "${id}" could not be opened: ${error instanceof Error ? error.message : String(error)}`,
  );
  return createFailure(
    'SANDBOX_UNAVAILABLE',
    `The image "${id}" could not be opened; see the log of the host.`,
  );
}

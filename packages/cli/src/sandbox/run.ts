import { extname } from 'node:path';
import { statSync } from 'node:fs';
import { createSandbox, type FunctionJob, type FunctionOutcome } from '@heddle/sandbox';
import type { Images } from '@heddle/images';
import { egressOf } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { readJsonOption, readTextFile } from '../input/json-source.ts';
import { onInterrupt } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { isolationOf, withImages, type ImagesOptions } from './open-images.ts';
import { outcomeJson, printOutcome } from './outcome-lines.ts';
import { buildLines } from './record-lines.ts';
import { buildImageFromFile } from './spec-file.ts';

export interface SandboxRunOptions extends ImagesOptions, Pick<BlockOptions, 'allowHost' | 'denyHost'> {
  image?: string;
  input?: string;
  /** Milliseconds. */
  timeout?: string;
  json: boolean;
}

type Language = NonNullable<FunctionJob['language']>;

const LANGUAGES: Readonly<Record<string, Language>> = {
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.py': 'python',
  '.sh': 'shell',
};

const MAX_TIMEOUT_MS = 3_600_000;

const CANCELLED_OUTCOME: FunctionOutcome = {
  ok: false,
  error: { code: 'CANCELLED', name: 'SandboxError', message: 'The job was cancelled.', retryable: false },
  stdout: '',
  cpuMs: 0,
  wallMs: 0,
};

function languageOf(file: string): Language {
  const language = LANGUAGES[extname(file).toLowerCase()];
  if (language === undefined)
    throw new UsageError(
      `${file} is not a JavaScript, Python or shell file.`,
      'Use a file that ends in .js, .py or .sh.',
    );
  return language;
}

function limitsOf(timeout: string | undefined): Pick<FunctionJob, 'limits'> {
  if (timeout === undefined) return {};
  const ms = Number(timeout);
  if (timeout.trim() === '' || !Number.isInteger(ms) || ms < 1 || ms > MAX_TIMEOUT_MS)
    throw new UsageError(
      `"${timeout}" is not a valid --timeout.`,
      `Use whole milliseconds from 1 to ${MAX_TIMEOUT_MS}.`,
    );
  return { limits: { wallMs: ms, cpuMs: ms } };
}

/** True if `--image` is an existing file. Throws a usage error if it looks like a file that does not exist. */
function isFile(image: string): boolean {
  if (statSync(image, { throwIfNoEntry: false })?.isFile() === true) return true;
  if (/[/\\]|\.json$/i.test(image))
    throw new UsageError(
      `There is no file ${image}.`,
      '--image takes a specification file, or the name or id of an image (heddle sandbox list).',
    );
  return false;
}

/**
 * Returns the id of the image for the job. If `--image` is a specification file, builds its image first. If the build
 * is cancelled, returns the outcome of a cancelled job. If the build fails, prints the error and returns an undefined
 * outcome; with `--json`, returns the id of the failed image instead, because the job then reports the failure.
 */
async function resolveImage(
  io: Io,
  images: Images,
  { image = '', json }: SandboxRunOptions,
): Promise<{ id: string } | { outcome: FunctionOutcome | undefined }> {
  if (!isFile(image)) return { id: image };
  const result = await buildImageFromFile(io, images, image, { refresh: false, quiet: json });
  if (!result) return { outcome: CANCELLED_OUTCOME };
  if (result.record.state === 'ready' || json) return { id: result.record.id };
  io.stderr.write(`${buildLines(result, styleFor(io.stderr)).join('\n')}\n`);
  return { outcome: undefined };
}

/**
 * Runs the job in a new sandbox, with the image of `--image` if set. Returns undefined if the build of the image failed
 * and its error is printed.
 */
async function runJob(
  io: Io,
  job: FunctionJob,
  options: SandboxRunOptions,
): Promise<FunctionOutcome | undefined> {
  const egress = await egressOf(options, readEnv());
  const sandboxOptions = { maxProcesses: 1, egress, ...isolationOf(options) };
  if (options.image === undefined) return runInSandbox(sandboxOptions, job);
  return withImages(options, async (images) => {
    const image = await resolveImage(io, images, options);
    if ('outcome' in image) return image.outcome;
    return runInSandbox({ ...sandboxOptions, images }, { ...job, image: image.id });
  });
}

async function runInSandbox(
  options: Parameters<typeof createSandbox>[0],
  job: FunctionJob,
): Promise<FunctionOutcome> {
  const sandbox = createSandbox(options);
  try {
    return await sandbox.run(job);
  } finally {
    await sandbox.close();
  }
}

/** Runs a file in the sandbox and prints its value. Returns 0, or 1 if the code failed. */
async function runFile(io: Io, file: string, options: SandboxRunOptions): Promise<number> {
  const language = languageOf(file);
  const text = (await readTextFile(file, 'FILE')).replace(/^\uFEFF/, '');
  const input = options.input === undefined ? null : await readJsonOption(io, '--input', options.input);
  const limits = limitsOf(options.timeout);
  const controller = new AbortController();
  const removeHandlers = onInterrupt(() => controller.abort(), undefined, ['SIGINT', 'SIGTERM']);
  try {
    const globals = { input: JSON.stringify(input) };
    const job = { runId: 'run', language, code: text, globals, ...limits, signal: controller.signal };
    const outcome = await runJob(io, job, options);
    if (!outcome) return EXIT.failed;
    if (options.json) io.stdout.write(outcomeJson(outcome));
    else printOutcome(outcome, { text, language, image: options.image }, io);
    return outcome.ok ? EXIT.completed : EXIT.failed;
  } finally {
    removeHandlers();
  }
}

/** Like `runFile`. With `--json` it also prints usage errors as JSON to stdout, with exit code 1. */
export async function run(io: Io, file: string, options: SandboxRunOptions): Promise<number> {
  try {
    return await runFile(io, file, options);
  } catch (error) {
    if (!options.json || !(error instanceof UsageError)) throw error;
    const message = [error.message, error.hint].filter((part) => part !== undefined).join(' ');
    io.stdout.write(
      `${JSON.stringify({ ok: false, error: { code: 'USAGE', message }, logs: [], durationMs: 0 })}\n`,
    );
    return EXIT.failed;
  }
}

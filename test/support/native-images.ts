import {
  createSandbox,
  type FunctionJob,
  type FunctionOutcome,
  type Sandbox,
  type SandboxFailure,
  type SandboxOptions,
} from '@heddle/sandbox';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import {
  createImages,
  findNpm,
  nativeBuilder,
  pythonBuilder,
  readAptSettings,
  readGoSettings,
  readPipSettings,
  type Images,
} from '@heddle/images';
import { findBubblewrap } from './bubblewrap.ts';

/** The folder is reused by later runs of the tests, because a build downloads and unpacks some 30 MiB. */
const FOLDER = join(tmpdir(), `heddle-native-images-${userInfo().uid}`);

/** Creates the image folder that tests share, and returns its path. */
export function createSharedFolder(): string {
  mkdirSync(FOLDER, { recursive: true });
  // Native jobs run under other user ids, which must be able to read this folder.
  chmodSync(FOLDER, 0o755);
  return FOLDER;
}

interface NativeImagesOptions {
  /** The npm registry; default: that of this machine. */
  readonly npm?: string;
  readonly maxImageMiB?: number;
}

/** Opens the shared image folder. Builds get real packages from the mirrors of this machine. */
function openSharedImages(bubblewrap: string, { npm, ...options }: NativeImagesOptions = {}): Images {
  const debian = readAptSettings();
  return createImages({
    folder: createSharedFolder(),
    ...options,
    builders: {
      python: pythonBuilder({ isolation: { bubblewrap } }),
      native: nativeBuilder({ isolation: { bubblewrap }, npm: findNpm(process.env['PATH']) }),
    },
    registries: {
      ...(npm !== undefined && { npm: { registry: npm, 'fetch-retries': '0' } }),
      ...(debian !== undefined && { debian }),
      python: readPipSettings({ env: {}, home: '/nonexistent' }),
      go: readGoSettings({ env: process.env, home: homedir() }),
    },
  });
}

/**
 * Builds the image of a spec and returns its id. If the registries cannot be reached, prints the reason and returns
 * undefined. Throws on other failures.
 */
async function buildImage(images: Images, spec: unknown): Promise<string | undefined> {
  const { id, state, errorCode, errorMessage } = await images.build(spec);
  if (state === 'ready') return id;
  const reason = `${errorCode}: ${errorMessage}`;
  if (errorCode !== 'registry_unavailable') throw new Error(reason);
  process.stderr.write(`No native image ${JSON.stringify(spec)}: ${reason}\n`);
  return undefined;
}

/**
 * Opens the shared image folder with these options. If this machine cannot build native images, prints the reason
 * and returns undefined.
 */
export async function openNativeImages(options: NativeImagesOptions): Promise<Images | undefined> {
  const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
  if (bubblewrapPath === undefined) return undefined;
  const probe = openSharedImages(bubblewrapPath);
  const id = await buildImage(probe, { language: 'javascript', systemPackages: ['jq'] });
  await probe.close();
  return id === undefined ? undefined : openSharedImages(bubblewrapPath, options);
}

/** An image for scripts, with the images and the isolation for a sandbox that runs them. */
export interface ScriptImage {
  readonly id: string;
  readonly images: Images;
  readonly isolation: NonNullable<SandboxOptions['isolation']>;
}

const SCRIPT_SPEC = { language: 'python', systemPackages: ['jq', 'curl'] };

const strictIsolation = (bubblewrap: string) => ({ level: 'strict', bubblewrap }) as const;

/**
 * Returns an image for scripts; the caller closes its images. If this machine cannot build it, prints the reason and
 * returns undefined.
 */
export async function buildScriptImage(): Promise<ScriptImage | undefined> {
  const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
  if (bubblewrapPath === undefined) return undefined;
  const images = openSharedImages(bubblewrapPath);
  const id = await buildImage(images, SCRIPT_SPEC);
  if (id !== undefined) return { id, images, isolation: strictIsolation(bubblewrapPath) };
  await images.close();
  return undefined;
}

type JobOptions = Partial<FunctionJob> & { readonly code: string };

/**
 * The native images of a test file, and functions that run jobs in them. `python`, `javascript` and `numpy` are ids of
 * images; undefined if this machine cannot build the image.
 */
export interface NativeImageSetup {
  readonly python: string | undefined;
  readonly javascript: string | undefined;
  readonly numpy: string | undefined;
  readonly images: Images | undefined;
  readonly isolation: NonNullable<SandboxOptions['isolation']>;
  createNativeSandbox(options?: SandboxOptions): Sandbox;
  /** Runs a job in the image of its language, by default bash. */
  run(job: JobOptions, targetSandbox?: Sandbox): Promise<FunctionOutcome>;
  runForValue(job: JobOptions, targetSandbox?: Sandbox): Promise<unknown>;
  runForFailure(job: JobOptions, targetSandbox?: Sandbox): Promise<SandboxFailure>;
  close(): Promise<void>;
}

/** Builds the native images of a test file. The test file closes the result. */
export async function setUpNativeImages(): Promise<NativeImageSetup> {
  const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
  const images = bubblewrapPath === undefined ? undefined : openSharedImages(bubblewrapPath);
  const buildIfSupported = async (spec: object) => images && buildImage(images, spec);
  const python = await buildIfSupported(SCRIPT_SPEC);
  const javascript = await buildIfSupported({ language: 'javascript', systemPackages: ['jq'] });
  const numpy = await buildIfSupported({ language: 'python', dependencies: ['numpy'] });
  const isolation =
    bubblewrapPath === undefined ? ({ level: 'strict' } as const) : strictIsolation(bubblewrapPath);
  const createNativeSandbox = (options: SandboxOptions = {}): Sandbox =>
    createSandbox({ isolation, maxProcesses: 2, ...(images && { images }), ...options });
  const sandbox = createNativeSandbox();
  const run = async (job: JobOptions, targetSandbox = sandbox): Promise<FunctionOutcome> => {
    const { language = 'shell' } = job;
    const image = (language === 'javascript' ? javascript : python) ?? '';
    return targetSandbox.run({ runId: 'r', image, ...job, language });
  };
  return {
    ...{ python, javascript, numpy, images, isolation, createNativeSandbox, run },
    async runForValue(job, targetSandbox) {
      const outcome = await run(job, targetSandbox);
      if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}\n${outcome.stdout}`);
      return JSON.parse(outcome.json) as unknown;
    },
    async runForFailure(job, targetSandbox) {
      const outcome = await run(job, targetSandbox);
      if (outcome.ok) throw new Error(`The job succeeded with ${outcome.json}\n${outcome.stdout}`);
      return outcome.error;
    },
    async close() {
      await sandbox.close();
      await images?.close();
    },
  };
}

/** Returns whether a process of this machine has the text in its command line. */
export function isProcessRunning(text: string): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });
}

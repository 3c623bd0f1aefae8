import { chmod } from 'node:fs/promises';
import {
  findUnreadablePath,
  type Confinement,
  JAIL_PATHS,
  jailEnvironment,
  kernelCpuSeconds,
  NATIVE_LIMITS,
  type NativeHost,
  type NativeJob,
  readObject,
  runProcessTree,
  type ProcessTreeEnd,
} from '@heddle/sandbox/build';
import type { BuildContext } from '../builder.ts';
import { ImageError } from '../error.ts';
import { logLines } from '../log.ts';
import type { OutputListener } from '../log.ts';
import { MAX_SIZE } from './limits.ts';

/** Time limit of one job. Packages are large and loaded for the first time. */
const MAX_JOB_MS = 120_000;
const MAX_RESULT_BYTES = 1 << 20;
const MAX_MEMORY_MIB = 1_024;
const MAX_DISK_MIB = 512;
/** First character of a result that is a value. A result that is an error begins with `E`. */
const VALUE_PREFIX = 'D';

/** Runs jobs in a root file system that is being built, without network and within limits. */
export class RootJobRunner {
  readonly #rootfs: string;
  readonly #host: NativeHost;
  readonly #context: BuildContext;

  constructor(rootfs: string, host: NativeHost, context: BuildContext) {
    this.#rootfs = rootfs;
    this.#host = host;
    this.#context = context;
  }

  /**
   * Returns how processes with this root are confined. Throws ImageError provider_error if the users of the sandbox
   * cannot access the root.
   */
  async confinement(): Promise<Confinement> {
    // The process's user must be able to traverse the work folder.
    await chmod(this.#context.workFolder, 0o711);
    const confinement = await this.#host.getConfinement();
    if (confinement.uids !== undefined && findUnreadablePath(this.#rootfs) !== undefined)
      throw new ImageError(
        'provider_error',
        'Sandbox users cannot access the folder of the images: make it and the folders above it accessible (chmod o+x), or use another folder.',
      );
    return confinement;
  }

  /** Runs a job. Its output goes to the log, or to `onOutput`. */
  run(job: NativeJob, onOutput?: OutputListener): Promise<ProcessTreeEnd> {
    if (onOutput) return this.#run(job, onOutput);
    return logLines(this.#context, (logOutput) => this.#run(job, logOutput));
  }

  async #run(job: NativeJob, onOutput: OutputListener): Promise<ProcessTreeEnd> {
    const { signal } = this.#context;
    const confinement = await this.confinement();
    return runProcessTree(confinement, {
      jail: {
        rootfs: this.#rootfs,
        execPath: this.#host.execPath,
        command: [JAIL_PATHS.node, `${JAIL_PATHS.boot}/boot.cjs`],
        environment: jailEnvironment(false),
        limits: { ...NATIVE_LIMITS, memoryMiB: MAX_MEMORY_MIB, diskMiB: MAX_DISK_MIB },
        cpuSeconds: kernelCpuSeconds(MAX_JOB_MS),
      },
      job: JSON.stringify(job),
      limits: {
        cpuMs: MAX_JOB_MS,
        wallMs: MAX_JOB_MS,
        resultBytes: MAX_RESULT_BYTES,
        outputBytes: MAX_SIZE.bytes,
      },
      signal,
      onOutput,
    });
  }

  /**
   * Returns the standard output of a command; undefined if its exit code is not 0 or the output exceeds the size of an
   * image.
   */
  async captureOutput(command: readonly string[]): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = await this.run({ language: 'command', command }, (data, stream) => {
      if (stream === 'stdout') size += data.length;
      if (stream === 'stdout' && size <= MAX_SIZE.bytes) chunks.push(data);
    });
    this.#context.signal.throwIfAborted();
    return end.exitCode === 0 && size <= MAX_SIZE.bytes ? Buffer.concat(chunks) : undefined;
  }

  /**
   * Runs code that loads a package or the interpreter. `subject` is its name in messages. Throws ImageError
   * load_failed if the code returns no value.
   */
  async load(language: 'javascript' | 'python', code: string, subject: string): Promise<void> {
    const end = await this.run({ language, code, globals: {}, values: {} });
    this.#context.signal.throwIfAborted();
    if (end.exitCode === null) throw errorWithoutExitCode(end);
    if (end.result.startsWith(VALUE_PREFIX)) return;
    const message = readObject(end.result.slice(1))?.['message'];
    const limitText =
      end.stopReason === undefined ? '' : ` within ${MAX_MEMORY_MIB} MiB and ${MAX_JOB_MS / 1_000} seconds`;
    const reason =
      typeof message === 'string'
        ? message
        : end.stderr.split('\n').at(-1) || `the process ended with exit code ${end.exitCode}`;
    throw new ImageError('load_failed', `${subject} cannot be loaded${limitText}: ${reason}`);
  }

  /**
   * Runs a command of a tool. `subject` is the name of the tool in messages. Throws ImageError install_failed if the
   * exit code is not 0.
   */
  async runCommand(command: readonly string[], subject: string): Promise<void> {
    const end = await this.run({ language: 'command', command });
    this.#context.signal.throwIfAborted();
    if (end.exitCode === 0) return;
    if (end.exitCode === null && end.stopReason === undefined) throw errorWithoutExitCode(end);
    const reason =
      end.stopReason === undefined
        ? end.stderr.split('\n').at(-1) || `exit code ${end.exitCode}`
        : `it needs more than ${MAX_JOB_MS / 1_000} seconds or ${MAX_MEMORY_MIB} MiB`;
    throw new ImageError(
      'install_failed',
      `${subject} does not work in the image: ${command.join(' ')} failed: ${reason}.`,
    );
  }
}

function errorWithoutExitCode({ stderr, stopReason }: ProcessTreeEnd): ImageError {
  return stopReason === undefined
    ? new ImageError(
        'provider_error',
        `No process could be started in the image: ${stderr || 'the process ended immediately'}.`,
      )
    : new ImageError(
        'load_failed',
        `The packages take more than ${MAX_JOB_MS / 1_000} seconds or ${MAX_MEMORY_MIB} MiB.`,
      );
}

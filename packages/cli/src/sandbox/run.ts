import { extname } from 'node:path';
import { existsSync } from 'node:fs';
import { createSandbox, type FunctionJob, type FunctionOutcome } from '@heddle/sandbox';
import type { Images } from '@heddle/sandbox/images';
import { EXIT } from '../exit-code.ts';
import { jsonSource, readInput } from '../input/json-source.ts';
import { onInterrupt } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { safe, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { withImages } from './open-images.ts';
import { recordLines } from './record-lines.ts';
import { buildFile } from './spec-file.ts';

export interface RunOptions {
  image?: string;
  input?: string;
  /** In milliseconds. */
  timeout?: string;
  images: string;
  json: boolean;
}

type Language = NonNullable<FunctionJob['language']>;

const LANGUAGES: Readonly<Record<string, Language>> = {
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.py': 'python',
  '.sh': 'shell',
};

function languageOf(file: string): Language {
  const language = LANGUAGES[extname(file).toLowerCase()];
  if (language === undefined)
    throw new UsageError(
      `${file} is neither JavaScript, Python nor a script.`,
      'Name a file that ends in .js, .py or .sh.',
    );
  return language;
}

function limitsOf(timeout: string | undefined): Pick<FunctionJob, 'limits'> {
  if (timeout === undefined) return {};
  const ms = Number(timeout);
  if (!Number.isInteger(ms) || ms < 1 || ms > 3_600_000)
    throw new UsageError(`--timeout is ${timeout}.`, 'Give whole milliseconds, from 1 to 3600000.');
  return { limits: { wallMs: ms, cpuMs: ms } };
}

/** The id of the image to run with: that of a spec file, which is built first, or the one that was given. */
async function imageOf(io: Io, images: Images, { image, json }: RunOptions): Promise<string | undefined> {
  if (image === undefined || !existsSync(image)) return image;
  const record = await buildFile(io, images, image, { refresh: false, quiet: json });
  if (record.state !== 'ready' && !json) {
    io.stderr.write(`${recordLines(record, styleFor(io.stderr)).join('\n')}\n`);
  }
  return record.id;
}

function show(io: Io, outcome: FunctionOutcome, { json }: RunOptions): void {
  const logs = outcome.stdout === '' ? [] : outcome.stdout.split('\n');
  const durationMs = Math.round(outcome.wallMs);
  if (json) {
    const said = outcome.ok
      ? { ok: true, value: JSON.parse(outcome.json) as unknown, logs, durationMs }
      : { ok: false, error: errorOf(outcome.error), logs, durationMs };
    io.stdout.write(`${JSON.stringify(said)}\n`);
    return;
  }
  const style = styleFor(io.stderr);
  for (const line of logs) io.stderr.write(`${safe(line)}\n`);
  if (outcome.ok) io.stdout.write(`${JSON.stringify(JSON.parse(outcome.json), null, 2)}\n`);
  else {
    const { code, name, message, line } = outcome.error;
    const type = name === 'Error' || name === 'SandboxError' ? '' : `${name}: `;
    const at = line === undefined ? '' : ` (line ${line})`;
    io.stderr.write(`${style.red('✗')} ${style.bold(code)} ${safe(`${type}${message}`)}${at}\n`);
  }
}

function errorOf({ code, message, line }: Extract<FunctionOutcome, { ok: false }>['error']) {
  return { code, message, ...(line === undefined ? {} : { line }) };
}

/** Runs a file in the sandbox and prints its value; 0 when it gave one, 1 when it failed. */
export async function run(io: Io, file: string, options: RunOptions): Promise<number> {
  const language = languageOf(file);
  const text = await readInput(file, 'FILE');
  const input = options.input === undefined ? null : await jsonSource(io, '--input', options.input);
  const limits = limitsOf(options.timeout);
  const cancel = new AbortController();
  const stop = onInterrupt(() => cancel.abort());
  try {
    const outcome = await withImages(options.images, async (images) => {
      const image = await imageOf(io, images, options);
      const sandbox = createSandbox({ images, maxProcesses: 1 });
      try {
        return await sandbox.run({
          runId: 'run',
          language,
          code: text,
          globals: { input: JSON.stringify(input) },
          ...limits,
          ...(image === undefined ? {} : { image }),
          signal: cancel.signal,
        });
      } finally {
        await sandbox.close();
      }
    });
    show(io, outcome, options);
    return outcome.ok ? EXIT.completed : EXIT.failed;
  } finally {
    stop();
  }
}

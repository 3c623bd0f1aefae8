import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../test/support/cpu.ts';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
} from '../../../test/support/images.ts';
import type { ImageBuilder } from './builder.ts';
import { ImageError } from './error.ts';
import { BuildLog, logLines, MAX_LOG_CHARS, secretsOf } from './log.ts';

/** A builder that writes a log, and then fails with this error if there is one. */
function createLoggingBuilder(lines: readonly string[], error?: Error) {
  const workingBuilder = createFakeBuilder();
  const resolve: ImageBuilder['resolve'] = async (spec, context) => {
    for (const line of lines) context.log(line);
    if (error) throw error;
    return workingBuilder.resolve(spec, context);
  };
  return { ...workingBuilder, resolve };
}

describe('the log of a build', () => {
  it('is stored completely, whether the build succeeds or fails', async () => {
    const lines = Array.from({ length: 3000 }, (_, line) => `line ${line}`);
    const succeedingImages = openImages({ javascript: createLoggingBuilder(lines) });
    const builtRecord = await succeedingImages.build(IMAGE_SPEC, { name: 'tools' });
    const steps = ['== assembling', '== publishing'];
    expect(succeedingImages.readLog('tools')).toBe(['== resolving', ...lines, ...steps].join('\n'));
    expect(succeedingImages.readLog(builtRecord.id.slice(0, 12))).toBe(succeedingImages.readLog('tools'));
    const error = new ImageError('package_not_found', 'No package "alpha".');
    const failingImages = openImages({ javascript: createLoggingBuilder(lines, error) });
    const failedRecord = await failingImages.build(IMAGE_SPEC);
    expect(failedRecord.errorDetail).toHaveLength(4000);
    expect(failingImages.readLog(failedRecord.id)).toBe(
      ['== resolving', ...lines, 'package_not_found: No package "alpha".'].join('\n'),
    );
    expect(failingImages.readLog('nothing')).toBeUndefined();
  });

  it('contains both attempts if the native runtime is tried too', async () => {
    const wheelError = new ImageError('no_compatible_wheel', 'No wheel fits.');
    const store = openImages({
      python: createLoggingBuilder(['for the isolate'], wheelError),
      native: { ...createLoggingBuilder(['for the host']), runtime: 'native' },
    });
    const { id, state } = await store.build({ language: 'python', dependencies: ['alpha'] });
    expect(state).toBe('ready');
    expect(store.readLog(id)).toMatch(
      /for the isolate\nno_compatible_wheel: No wheel fits\.\n== building for the native runtime\n== resolving\nfor the host/,
    );
  });

  it('has no credentials of registries, neither as configured nor in URLs', async () => {
    const registries = {
      npm: { '//registry.test/:_authToken': 'npm-index-token' },
      python: {
        indexUrl: 'https://reader:p%40ss-of-index@pypi.test/simple',
        extraIndexUrls: ['https://only-a-token@other.test/simple'],
      },
    };
    const secrets = ['npm-index-token', 'p%40ss-of-index', 'p@ss-of-index', 'only-a-token', 'unknown-pass'];
    const lines = [
      'GET https://reader:p%40ss-of-index@pypi.test/simple/alpha',
      'with p@ss-of-index, npm-index-token and only-a-token',
      'redirected to https://me:unknown-pass@mirror.test/x?token=unknown-pass',
      'Authorization: Bearer  unknown-pass',
      '"authorization": "token unknown-pass"',
    ];
    const error = new Error(`failed at https://reader:p%40ss-of-index@pypi.test/ with only-a-token`);
    const store = openImages(
      { javascript: createLoggingBuilder(lines, error) },
      { registries: registries as never },
    );
    const { id, errorMessage } = await store.build(IMAGE_SPEC);
    for (const secret of secrets) expect(store.readLog(id) + String(errorMessage)).not.toContain(secret);
    expect(store.readLog(id)).toContain('@pypi.test/simple/alpha');
    expect(secretsOf({ token: 'x', broken: 'https://%zz@host/' })).toEqual(['x', '%zz', '%zz']);
  });

  it('that is too long keeps its last lines, each of them complete', () => {
    const log = new BuildLog(['the-secret-of-this-line'], []);
    log.add(`the-secret-of-this-line ${'x'.repeat(MAX_LOG_CHARS)}`);
    for (let line = 0; line < 40; line += 1) log.add(`${line} ${'y'.repeat(100_000)}`);
    const wholeLog = log.fullText();
    expect(wholeLog.length).toBeLessThanOrEqual(MAX_LOG_CHARS);
    expect(wholeLog.length).toBeGreaterThan(MAX_LOG_CHARS - 100_010);
    expect(wholeLog).toMatch(/^…\d+ y/);
    expect(wholeLog).toMatch(/\n39 y+$/);
  });

  it('has no credential, even if a tool writes the credential in parts, alternating between its two streams', async () => {
    const log = new BuildLog(['the-secéret'], []);
    const [firstPart, secondPart] = [Buffer.from('a the-secé').subarray(0, 10), Buffer.from('é').subarray(1)];
    const result = await logLines({ log: (line) => log.add(line) }, async (onOutput) => {
      onOutput(firstPart, 'stdout');
      onOutput(Buffer.from('a the-'), 'stderr');
      onOutput(Buffer.concat([secondPart, Buffer.from('ret b\nc\nthe-')]), 'stdout');
      await Promise.resolve();
      onOutput(Buffer.from('secéret d'), 'stderr');
      onOutput(Buffer.from('secéret'), 'stdout');
      return 'done';
    });
    expect(result).toBe('done');
    expect(log.fullText()).toBe('a *** b\nc\n***\na *** d');
  });

  it('has the last line of a tool that fails, and splits an endless line into parts of limited size', async () => {
    const lines: string[] = [];
    const logPromise = logLines({ log: (line) => lines.push(line) }, (onOutput) => {
      for (let part = 0; part < 3; part++) onOutput(Buffer.alloc(MAX_LOG_CHARS - 1, 'x'), 'stdout');
      onOutput(Buffer.from('last'), 'stderr');
      return Promise.reject(new Error('Broken.'));
    });
    await expect(logPromise).rejects.toThrow('Broken.');
    expect(lines.map(({ length }) => length)).toEqual([2 * MAX_LOG_CHARS - 2, MAX_LOG_CHARS - 1, 4]);
  });

  it('is redacted in linear time, whatever packages write', () => {
    const outputs = [
      [`token${' '.repeat(1_000_000)},`],
      ['token= '.repeat(140_000)],
      ['{{https://'.repeat(100_000)],
      Array.from({ length: 100_000 }, (_, line) => `line ${line} ${'z'.repeat(100)}`),
    ];
    const cpuMs = measureCpuMs(() => {
      for (const lines of outputs) {
        const log = new BuildLog([], []);
        for (const line of lines) log.add(line);
        log.fullText();
      }
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it('is replaced by the log of the next build, and removed with its image', async () => {
    const folder = createImageFolder();
    const error = new ImageError('package_not_found', 'No package.');
    const firstStore = openImages({ javascript: createLoggingBuilder(['first'], error) }, { folder });
    const { id } = await firstStore.build(IMAGE_SPEC);
    expect(firstStore.readLog(id)).toContain('first');
    const secondStore = openImages({ javascript: createLoggingBuilder(['second']) }, { folder });
    await secondStore.build(IMAGE_SPEC);
    expect(secondStore.readLog(id)).toMatch(/^== resolving\nsecond/);
    expect(secondStore.remove(id)).toBe(true);
    const database = new DatabaseSync(join(folder, 'images.db'), { readOnly: true });
    expect(database.prepare('SELECT count(*) AS n FROM build_logs').get()).toEqual({ n: 0 });
    database.close();
  });
});

import { isSandboxError } from '@heddle/sandbox';
import { SpecError, type ImageRecord, type Images } from '@heddle/sandbox/images';
import { readEnv } from '../env.ts';
import { jsonFile } from '../input/json-source.ts';
import type { Io } from '../io.ts';
import { createPainter } from '../live/painter.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

/** What is asked of a build, besides its spec. */
export interface SpecOptions {
  refresh: boolean;
  /** Whether nobody watches. */
  quiet: boolean;
}

/** The issues of a spec as one text, a line for each. */
function issueText(error: SpecError): string {
  return error.issues
    .map(
      ({ field, line, value, reason }) =>
        `${field}${line === 0 ? '' : `[${line - 1}] "${value}"`}: ${reason}`,
    )
    .join('\n');
}

/** Builds what a file asks for, telling what is done on stderr. Throws a usage error for a spec that is none. */
export async function buildFile(
  io: Io,
  images: Images,
  file: string,
  options: SpecOptions,
): Promise<ImageRecord> {
  const spec = await jsonFile('FILE', file);
  const painter = createPainter(
    io.stderr,
    !options.quiet && io.stderr.isTTY === true && readEnv().canUpdateLines,
  );
  const style = styleFor(io.stderr);
  const name = nameOf(spec);
  try {
    return await images.build(spec, {
      refresh: options.refresh,
      ...(name !== undefined && { name }),
      onProgress: (step) => {
        const line = style.dim(`${step} …`);
        if (options.quiet) return;
        if (io.stderr.isTTY === true) painter.status(line);
        else painter.print([line]);
      },
    });
  } catch (error) {
    if (!isSandboxError(error) || !(error instanceof SpecError)) throw error;
    throw new UsageError(
      `The file ${safeLine(file)} is no spec of an image.\n${issueText(error)}`,
      'A spec is such as {"language": "javascript", "dependencies": ["zod@^4"]}.',
    );
  } finally {
    painter.status('');
  }
}

/** The name that a spec gives its image. */
function nameOf(spec: unknown): string | undefined {
  const name =
    typeof spec === 'object' && spec !== null ? (spec as Record<string, unknown>)['name'] : undefined;
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : undefined;
}

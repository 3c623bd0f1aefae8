import { isSandboxError } from '@heddle/sandbox';
import { SpecError, type ImageRecord, type Images } from '@heddle/images';
import { jsonFile } from '../input/json-source.ts';
import type { Io } from '../io.ts';
import { safeLine } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { createProgress } from './progress.ts';

/** What is asked of a build, besides its spec. */
export interface SpecOptions {
  refresh: boolean;
  /** Whether nobody watches. */
  quiet: boolean;
}

/** What came of a spec file. */
export interface Made {
  record: ImageRecord;
  /** The name that the file gives the image. */
  name: string | undefined;
  /** How long the build took; undefined: the image was there. */
  tookMs: number | undefined;
}

const FIELDS = ['name', 'language', 'dependencies', 'cliTools', 'systemPackages'];

const EXAMPLES = {
  javascript: '{"language": "javascript", "dependencies": ["zod@^4"]}',
  python: '{"language": "python", "dependencies": ["pydantic>=2,<3"]}',
};

const MOST_NAME_CHARS = 100;

/** The issues of a spec as one text, a line for each. */
function issueText(error: SpecError): string {
  return error.issues
    .map(
      ({ field, line, value, reason }) =>
        `${field}${line === 0 ? '' : `[${line - 1}] "${value}"`}: ${reason}`,
    )
    .join('\n');
}

function noSpec(file: string, language: unknown, issues: string): UsageError {
  const example = EXAMPLES[language === 'python' ? 'python' : 'javascript'];
  return new UsageError(
    `The file ${safeLine(file)} is no spec of an image.\n${issues}`,
    `A spec is such as ${example}.`,
  );
}

/** A spec file, with its name. A field that nobody reads is refused: it is one that was misspelt. */
async function readSpecFile(
  file: string,
): Promise<{ spec: Record<string, unknown>; name: string | undefined }> {
  const value = await jsonFile('FILE', file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw noSpec(file, null, 'it is no JSON object');
  const spec = value as Record<string, unknown>;
  const { name, language } = spec;
  const issues = Object.keys(spec)
    .filter((field) => !FIELDS.includes(field))
    .map((field) => `${field}: there is no such field; those of a spec are ${FIELDS.join(', ')}`);
  const given = typeof name === 'string' ? name.trim() : '';
  if (name !== undefined && (given === '' || given.length > MOST_NAME_CHARS))
    issues.push(`name: it is no text of 1 to ${MOST_NAME_CHARS} characters`);
  if (issues.length > 0) throw noSpec(file, language, issues.join('\n'));
  return { spec, name: name === undefined ? undefined : given };
}

/**
 * Builds what a file asks for, telling what is done on stderr; null when Ctrl-C broke it off. Throws a usage error for a
 * spec that is none.
 */
export async function buildFile(
  io: Io,
  images: Images,
  file: string,
  { refresh, quiet }: SpecOptions,
): Promise<Made | null> {
  const { spec, name } = await readSpecFile(file);
  const progress = createProgress(io, quiet);
  try {
    const onProgress = (step: string): void => progress.tell(step);
    const record = await images.build(spec, { refresh, onProgress, ...(name !== undefined && { name }) });
    return { record, name, tookMs: progress.tookMs() };
  } catch (error) {
    if (isSandboxError(error) && error.code === 'IMAGES_CLOSED') return null;
    if (!isSandboxError(error) || !(error instanceof SpecError)) throw error;
    throw noSpec(file, spec['language'], issueText(error));
  } finally {
    progress.end();
  }
}

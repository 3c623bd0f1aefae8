import { isSandboxError } from '@heddle/sandbox';
import { SpecError, type ImageRecord, type Images } from '@heddle/images';
import { readJsonFile } from '../input/json-source.ts';
import type { Io } from '../io.ts';
import { sanitizeLine } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { createProgressDisplay } from './progress.ts';

/** Options of a build besides its specification. */
export interface BuildFileOptions {
  refresh: boolean;
  /** True: print no progress. */
  quiet: boolean;
}

/** Result of a build. */
export interface BuildResult {
  record: ImageRecord;
  /** Name of the image from the specification file. */
  name: string | undefined;
  /** Duration of the build; undefined if the image existed. */
  durationMs: number | undefined;
}

const FIELDS = ['name', 'language', 'dependencies', 'cliTools', 'systemPackages'];

const EXAMPLES = {
  javascript: '{"language": "javascript", "dependencies": ["zod@^4"]}',
  python: '{"language": "python", "dependencies": ["pydantic>=2,<3"]}',
};

const MAX_NAME_CHARS = 100;

/** Returns the issues of an invalid specification, one per line. */
function issueText(error: SpecError): string {
  return error.issues
    .map(
      ({ field, line, value, reason }) =>
        `${field}${line === 0 ? '' : `[${line - 1}] "${value}"`}: ${reason}`,
    )
    .join('\n');
}

function invalidSpecError(file: string, language: unknown, issues: string): UsageError {
  const example = EXAMPLES[language === 'python' ? 'python' : 'javascript'];
  return new UsageError(
    `The file ${sanitizeLine(file)} is not a valid image specification.\n${issues}`,
    `Example of a specification: ${example}`,
  );
}

/** Reads a specification file. Rejects unknown fields, which are probably misspelled. */
async function readSpecFile(
  file: string,
): Promise<{ spec: Record<string, unknown>; name: string | undefined }> {
  const value = await readJsonFile('FILE', file);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidSpecError(file, null, 'it is not a JSON object');
  const spec = value as Record<string, unknown>;
  const { name, language } = spec;
  const issues = Object.keys(spec)
    .filter((field) => !FIELDS.includes(field))
    .map((field) => `${field}: unknown field; the fields are ${FIELDS.join(', ')}`);
  const trimmedName = typeof name === 'string' ? name.trim() : '';
  if (name !== undefined && (trimmedName === '' || trimmedName.length > MAX_NAME_CHARS))
    issues.push(`name: must be a string of 1 to ${MAX_NAME_CHARS} characters`);
  if (issues.length > 0) throw invalidSpecError(file, language, issues.join('\n'));
  return { spec, name: name === undefined ? undefined : trimmedName };
}

/**
 * Builds the image of a specification file and prints progress to stderr. Returns undefined if Ctrl-C cancelled the
 * build. Throws a usage error for an invalid specification.
 */
export async function buildImageFromFile(
  io: Io,
  images: Images,
  file: string,
  { refresh, quiet }: BuildFileOptions,
): Promise<BuildResult | undefined> {
  const { spec, name } = await readSpecFile(file);
  const progress = createProgressDisplay(io, quiet);
  try {
    const onProgress = (step: string): void => progress.report(step);
    const record = await images.build(spec, { refresh, onProgress, ...(name !== undefined && { name }) });
    return { record, name, durationMs: progress.elapsedMs() };
  } catch (error) {
    if (isSandboxError(error) && error.code === 'IMAGES_CLOSED') return undefined;
    if (!isSandboxError(error) || !(error instanceof SpecError)) throw error;
    throw invalidSpecError(file, spec['language'], issueText(error));
  } finally {
    progress.end();
  }
}

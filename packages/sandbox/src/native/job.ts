import type { NativeJob } from '../guest/native/job.ts';
import type { Job } from '../pool/job.ts';

type StringMap = Record<string, string>;

/**
 * Reads the number of values, then the name and the JSON of each, from `start` on. Returns the values by name, and the
 * index after the last one.
 */
function readValues(args: Job['args'], start: number): { values: StringMap; end: number } {
  const end = start + 1 + 2 * (args[start] as number);
  const values: StringMap = {};
  for (let index = start + 1; index < end; index += 2)
    values[args[index] as string] = args[index + 1] as string;
  return { values, end };
}

/** Maximum size in bytes of one environment variable (the kernel's limit), and of the whole environment. */
const VARIABLE_BYTES = 128 * 1024 - 1;
const ENVIRONMENT_BYTES = 1024 * 1024;

/** Returns a value as a script reads it: strings unchanged, null as an empty string, everything else as JSON. */
function toVariableText(json: string): string {
  const value: unknown = JSON.parse(json);
  if (value === null) return '';
  return typeof value === 'string' ? value : json;
}

/** Returns the environment of a script, or why it cannot be built. */
function environmentOf(
  values: StringMap,
): { readonly environment: StringMap } | { readonly refusal: string } {
  const environment: StringMap = {};
  let totalBytes = 0;
  for (const [name, json] of Object.entries(values)) {
    const text = toVariableText(json);
    const size = Buffer.byteLength(name) + Buffer.byteLength(text) + 2;
    totalBytes += size;
    if (text.includes('\0'))
      return {
        refusal: `The value ${name} contains a null character, which environment variables cannot hold.`,
      };
    if (size > VARIABLE_BYTES || totalBytes > ENVIRONMENT_BYTES)
      return {
        refusal: `The value ${name} is too large for a script: a variable may have ${VARIABLE_BYTES} bytes, and all variables together ${ENVIRONMENT_BYTES}.`,
      };
    environment[name] = text;
  }
  return { environment };
}

/** Returns the variables of a script: one per global, and one per entry of the global `environmentVariables`. */
function variablesOf({ environmentVariables, ...globals }: StringMap): StringMap {
  const values = JSON.parse(environmentVariables ?? '{}') as Readonly<Record<string, unknown>>;
  const variables = Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)] as const);
  const entries = [...Object.entries(globals), ...variables];
  return Object.fromEntries(entries.filter(([name]) => /^[A-Za-z_]\w*$/.test(name)));
}

/** Variables that the sandbox itself needs, and those that would run code before the script. */
const RESERVED_NAMES =
  /^(?:PATH|HOME|SHELLOPTS|BASHOPTS|BASH_ENV|ENV|IFS|LD_\w+|NODE_OPTIONS|PYTHON\w*|\w*_proxy|\w*_PROXY)$/;

/** Returns the job as the process tree's first program reads it, or why it cannot run. */
export function toNativeJob({ args, kind }: Job): NativeJob | { readonly refusal: string } {
  const globals = readValues(args, 0);
  // After the globals: the number of units, which is 1 here, then the code and the values of the unit.
  const code = args[globals.end + 1] as string;
  const { values } = readValues(args, globals.end + 2);
  if (kind !== 'shell')
    return { language: kind === 'python' ? 'python' : 'javascript', code, globals: globals.values, values };
  const variables = Object.entries(variablesOf(globals.values)).filter(
    ([name]) => !RESERVED_NAMES.test(name),
  );
  const result = environmentOf({ ...Object.fromEntries(variables), ...values });
  return 'refusal' in result ? result : { language: 'shell', code, environment: result.environment };
}

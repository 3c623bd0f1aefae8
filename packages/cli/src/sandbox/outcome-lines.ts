import type { FunctionJob, FunctionOutcome } from '@heddle/sandbox';
import type { Io } from '../io.ts';
import { codeFrame } from '../render/code-frame.ts';
import { sanitize, styleFor } from '../render/style.ts';

/** The code that ran. */
export interface ExecutedCode {
  text: string;
  language: NonNullable<FunctionJob['language']>;
  image: string | undefined;
}

type Failure = Extract<FunctionOutcome, { ok: false }>['error'];

const logsOf = ({ stdout }: FunctionOutcome): string[] => (stdout === '' ? [] : stdout.split('\n'));

/** Returns the outcome as one line of JSON. */
export function outcomeJson(outcome: FunctionOutcome): string {
  const commonFields = { logs: logsOf(outcome), durationMs: Math.round(outcome.wallMs) };
  const json = outcome.ok
    ? { ok: true, value: JSON.parse(outcome.json) as unknown, ...commonFields }
    : { ok: false, error: errorOf(outcome.error), ...commonFields };
  return `${JSON.stringify(json)}\n`;
}

function errorOf({ code, message, line }: Failure) {
  return { code, message, ...(line === undefined ? {} : { line }) };
}

const RAISE_TIMEOUT_HINT = 'Raise the limit: --timeout MS';
const LIST_IMAGES_HINT = 'heddle sandbox list shows the images';

/** Hints by error code. */
const HINTS: Readonly<Record<string, (code: ExecutedCode) => string | undefined>> = {
  MODULE_NOT_IN_IMAGE: ({ language, image }) =>
    image === undefined
      ? `Use an image with the package: --image SPEC.json, with a specification like {"language": "${language}", "dependencies": ["…"]}`
      : undefined,
  IMAGE_NOT_FOUND: ({ image }) => (image === undefined ? undefined : LIST_IMAGES_HINT),
  IMAGE_NOT_READY: () => LIST_IMAGES_HINT,
  SANDBOX_UNAVAILABLE: () => 'heddle sandbox doctor shows what this host lacks',
  TIMEOUT_CPU: () => RAISE_TIMEOUT_HINT,
  TIMEOUT_WALL: () => RAISE_TIMEOUT_HINT,
};

/** Prints the outcome as text: the value on stdout, everything else on stderr. */
export function printOutcome(outcome: FunctionOutcome, code: ExecutedCode, io: Io): void {
  for (const line of logsOf(outcome)) io.stderr.write(`${sanitize(line)}\n`);
  if (outcome.ok) {
    io.stdout.write(`${JSON.stringify(JSON.parse(outcome.json), null, 2)}\n`);
    return;
  }
  const style = styleFor(io.stderr);
  const { code: errorCode, name, message, line } = outcome.error;
  const namePrefix = name === 'Error' || name === 'SandboxError' ? '' : `${name}: `;
  const lineSuffix = line === undefined ? '' : ` (line ${line})`;
  const frame = codeFrame(code.text.trimEnd(), line, style);
  const hint = HINTS[errorCode]?.(code);
  const lines = [
    `${style.red('✗')} ${style.bold(errorCode)} ${sanitize(`${namePrefix}${message}`)}${lineSuffix}`,
    ...frame,
    ...(hint === undefined ? [] : [...(frame.length === 0 ? [] : ['']), `${style.cyan('→')} ${hint}`]),
  ];
  io.stderr.write(`${lines.join('\n')}\n`);
}

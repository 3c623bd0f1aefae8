import { USER_FILE, type GuestError } from '../protocol.ts';
import { attempt, isError, slice, stringify, toText } from './primordials.ts';
import { send } from './channel.ts';
import { missingModuleKindOf } from './modules.ts';

const NAME_CHARS = 100;
const MESSAGE_CHARS = 8_000;
const STACK_CHARS = 8_000;

const truncate = (text: string, maxChars: number): string =>
  text.length > maxChars ? slice(text, 0, maxChars) : text;

function errorFieldsOf(error: unknown): { name: string; message: string; stack: string } {
  if (!attempt(() => isError(error), false)) {
    return {
      name: 'Error',
      message: truncate(
        attempt(() => toText(error), '[value without text]'),
        MESSAGE_CHARS,
      ),
      stack: '',
    };
  }
  const errorObject = error as Error;
  return {
    name: truncate(
      attempt(() => toText(errorObject.name), 'Error'),
      NAME_CHARS,
    ),
    message: truncate(
      attempt(() => toText(errorObject.message), ''),
      MESSAGE_CHARS,
    ),
    stack: truncate(
      attempt(() => toText(errorObject.stack), ''),
      STACK_CHARS,
    ),
  };
}

/** Ends the job with its result as JSON. */
export function sendResult(json: string): void {
  send('D' + json);
}

/**
 * Ends the job with an error. The error is converted to text here, where the process measures the time, because reading
 * it may run user code.
 */
export function sendError(phase: GuestError['phase'], index: number, error: unknown, source?: string): void {
  const { name, message, stack } = errorFieldsOf(error);
  const errorCategory = phase === 'run' ? (missingModuleKindOf(error) ?? phase) : phase;
  send('E' + stringify({ __proto__: null, phase: errorCategory, index, name, message, stack, source }));
}

/** The line that names user code in stack traces. */
export const SOURCE_URL_LINE = '\n//# sourceURL=' + USER_FILE;

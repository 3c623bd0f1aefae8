import { CommanderError } from 'commander';
import { EXIT } from './exit-code.ts';
import { processIo } from './io.ts';
import type { Io } from './io.ts';
import { buildProgram } from './program.ts';
import { guardedIo } from './render/terminal.ts';
import { reportError } from './report-error.ts';

/** The exit code of the command line `argv` (without node and script). Never throws. */
export async function main(argv: readonly string[], given: Io = processIo()): Promise<number> {
  const io = guardedIo(given);
  let exit: number = EXIT.completed;
  let isWritten = true;
  watchPipes(io, () => {
    isWritten = false;
    // The fault may come to light when all is done.
    process.exitCode = EXIT.failed;
  });
  const program = buildProgram(io, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return isWritten ? exit : EXIT.failed;
  } catch (error) {
    // Commander has written what it has to say; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.invalid;
    return reportError(io, error, { json: argv.includes('--json') });
  }
}

/** Whoever reads our output may stop early (`heddle plan F | head`); that is no fault to report. A full disk is one. */
function watchPipes({ stdout, stderr }: Io, failed: () => void): void {
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    failed();
    stderr.write(`heddle: the output cannot be written: ${message}\n`);
  });
  // Nobody is left to be told.
  stderr.on('error', () => undefined);
}

import { CommanderError } from 'commander';
import { EXIT } from './exit-code.ts';
import { processIo } from './io.ts';
import type { Io } from './io.ts';
import { buildProgram } from './program.ts';
import { guardedIo } from './render/terminal.ts';
import { reportError } from './report-error.ts';

/** Runs the command line `argv` (without node and script). Returns the exit code. Never throws. */
export async function main(argv: readonly string[], streams: Io = processIo()): Promise<number> {
  const io = guardedIo(streams);
  let exit: number = EXIT.completed;
  let isWritten = true;
  watchPipes(io, () => {
    isWritten = false;
    // The error may arrive after the command has ended.
    process.exitCode = EXIT.failed;
  });
  const program = buildProgram(io, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return isWritten ? exit : EXIT.failed;
  } catch (error) {
    // Commander has printed its message. Help and version also arrive here, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.invalid;
    return reportError(io, error, { json: argv.includes('--json') });
  }
}

/** Reports errors of writing to stdout, such as a full disk. A closed pipe (`heddle plan F | head`) is not an error. */
function watchPipes({ stdout, stderr }: Io, onError: () => void): void {
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    onError();
    stderr.write(`heddle: Cannot write the output: ${message}\n`);
  });
  // There is no stream left to report errors on.
  stderr.on('error', () => undefined);
}

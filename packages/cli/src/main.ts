import { CommanderError } from 'commander';
import { EXIT } from './exit-code.ts';
import { processIo } from './io.ts';
import type { Io } from './io.ts';
import { buildProgram } from './program.ts';
import { reportError } from './report-error.ts';

/** The exit code of the command line `argv` (without node and script). Never throws. */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  quietPipes(io);
  let exit: number = EXIT.completed;
  const program = buildProgram(io, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exit;
  } catch (error) {
    // Commander has written what it has to say; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.invalid;
    return reportError(io, error, { json: argv.includes('--json') });
  }
}

/** Whoever reads our output may stop early (`heddle plan F | head`); that is no fault to report. */
function quietPipes({ stdout, stderr }: Io): void {
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { readEnv } from '../env.ts';
import { EXIT, exitCodeOf } from '../exit-code.ts';
import { readJsonOption } from '../input/json-source.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { dataOf, ApiClient, stringAt } from '../api-client.ts';
import type { RemoteOptions } from '../run-options.ts';
import { formatDuration } from '../render/format.ts';
import { sanitize, sanitizeLine, styleFor } from '../render/style.ts';
import { shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';

export interface ExecuteOptions extends RemoteOptions {
  input?: string;
  json: boolean;
  select: readonly string[];
  /** True to print the id of the run without waiting for its end. */
  async: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Executes a deployed workflow by its name or id and prints its output. */
export async function execute(io: Io, workflow: string, options: ExecuteOptions): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const input = options.input === undefined ? {} : await readJsonOption(io, '--input', options.input);
  const workflowId = UUID.test(workflow) ? workflow : await client.findWorkflowId(workflow);
  if (workflowId === undefined) {
    throw new UsageError(
      `The workspace has no workflow "${workflow}".`,
      'Deploy it with heddle deploy FILE. A name must match exactly; an id works too.',
    );
  }
  const path = `/api/v2/workflows/${encodeURIComponent(workflowId)}/execute`;
  if (options.async) {
    const startedRun = dataOf(await client.call('POST', path, { input, async: true }));
    if (options.json) writeJson(io, { data: startedRun });
    else io.stdout.write(`${stringAt(startedRun, 'runId')}\n`);
    return EXIT.completed;
  }
  const select = options.select.length > 0 && { selectedOutputs: [...options.select] };
  const run = await readFinalRun(client.streamObjects(path, { input, ...select }));
  if (options.json) writeJson(io, { data: run });
  else report(io, run);
  return exitCodeOf(stringAt(run, 'status'));
}

async function readFinalRun(lines: AsyncIterable<JsonObject>): Promise<JsonObject> {
  for await (const line of lines) {
    const type = stringAt(line, 'type');
    if (type === 'final') return dataOf(line);
    if (type === 'error')
      throw new UsageError(`The server failed: ${stringAt(line, 'error')}.`, 'See its log.');
  }
  throw new UsageError(
    'The server closed the response before the end of the run.',
    'The run may still continue. GET /api/v2/workflows/ID/runs lists the runs of the workflow.',
  );
}

function report(io: Io, run: JsonObject): void {
  const style = styleFor(io.stderr);
  const status = stringAt(run, 'status');
  const ms = getOwn(run, 'durationMs');
  const durationText = typeof ms === 'number' ? ` in ${formatDuration(ms)}` : '';
  const mark =
    status === 'completed' ? style.green('✓') : status === 'failed' ? style.red('✗') : style.yellow('‖');
  const lines = [
    `${mark} ${style.bold(status)}${durationText}${style.dim(`  run ${shortId(stringAt(run, 'runId'))}`)}`,
  ];
  const error = getOwn(run, 'error');
  if (isJsonObject(error)) {
    lines.push(`  ${style.dim('code')}   ${sanitizeLine(stringAt(error, 'code'))}`);
    lines.push(`  ${style.dim('error')}  ${style.red(sanitize(stringAt(error, 'message')))}`);
  }
  io.stderr.write(`${lines.join('\n')}\n`);
  const output: Json = getOwn(run, 'output') ?? null;
  if (status === 'completed' || status === 'paused') writeJson(io, output);
}

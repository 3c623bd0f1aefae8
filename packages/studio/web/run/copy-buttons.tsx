import { useMutation } from '@tanstack/react-query';
import { BASE_PATH, RequestError, client, dataOf } from '../api/client.ts';
import { isNonTerminal } from '../api/queries.ts';
import type { Overview } from '../api/queries.ts';
import { toCurlCommand, toTestCode } from './copy-text.ts';

/** Buttons that copy the run as a command or as a test. */
export function CopyButtons({ run }: { run: Overview }) {
  const workflowId = run.workflow.id;
  const copy = useMutation({
    mutationFn: async (format: 'curl' | 'test') => {
      await navigator.clipboard.writeText(await createCopyText(format, run, workflowId ?? ''));
      return format;
    },
  });
  if (workflowId === null) return null;
  return (
    <>
      <button type="button" className="button" onClick={() => copy.mutate('curl')}>
        Copy as curl
      </button>
      {!isNonTerminal(run.status) && (
        <button type="button" className="button" onClick={() => copy.mutate('test')}>
          Copy as test
        </button>
      )}
      <span role="status" className={copy.error ? 'error-text' : undefined}>
        {copy.error?.message ?? (copy.isSuccess ? 'Copied' : '')}
      </span>
    </>
  );
}

async function createCopyText(format: 'curl' | 'test', run: Overview, workflowId: string): Promise<string> {
  const input = await readSmallValue(run.runId, 'input');
  if (format === 'curl') return toCurlCommand({ workflowId, input }, location.origin + BASE_PATH);
  const output = run.status === 'completed' ? await readSmallValue(run.runId, 'output') : undefined;
  const { status, error } = run;
  return toTestCode({ workflowId, name: run.workflow.name, input, status, output, errorCode: error?.code });
}

/** Returns the input or output of the run; an empty object if there is none. Throws if it is too large to copy. */
async function readSmallValue(runId: string, part: 'input' | 'output'): Promise<unknown> {
  const params = { path: { runId }, query: { part } };
  try {
    const { data } = await dataOf(client.GET('/api/v2/logs/{runId}/value', { params }));
    if (data.nextOffset === null) return JSON.parse(data.text) as unknown;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return {};
    throw error;
  }
  throw new Error(`The ${part} is larger than 64 KB. Download it instead.`);
}

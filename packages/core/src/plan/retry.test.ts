import { describe, expect, it } from 'vitest';
import { code, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { Json } from '../json.ts';
import { parseWorkflow } from '../schema/parse.ts';
import type { Diagnostic } from './diagnostics.ts';
import { retryPolicy } from './retry.ts';

function policyOf(
  retry: Json,
  dialect: 'import' | 'heddle' = 'import',
  type = 'function',
): [unknown, string[]] {
  const block = parseWorkflow(workflowFile({ blocks: { b: { ...code('1'), type, retry } } })).workflow!
    .blocks[0]!;
  const diagnostics: Diagnostic[] = [];
  const policy = retryPolicy(block, dialect, diagnostics);
  return [policy, diagnostics.map((diagnostic) => `${diagnostic.code} ${diagnostic.path.at(-1)}`)];
}

const DEFAULTS = { maxTries: 3, waitMs: 1000, backoff: 1, maxWaitMs: 1000, jitter: 0 };

describe('a retry policy', () => {
  it.each<[Json]>([[null], [{}], [{ enabled: false, maxTries: 3 }], ['yes'], [{ enabled: 'true' }]])(
    'is absent: %j',
    (retry) => {
      expect(policyOf(retry)).toEqual([undefined, []]);
    },
  );

  it.each<[Json, object, string[]]>([
    [{}, {}, []],
    [{ maxTries: 4, waitBetweenTriesMs: 20 }, { maxTries: 4, waitMs: 20, maxWaitMs: 20 }, []],
    [{ waitBetweenTriesMs: 0 }, { waitMs: 0, maxWaitMs: 0 }, []],
    [{ maxTries: 9 }, { maxTries: 5 }, ['RETRY_CLAMPED maxTries']],
    [{ maxTries: 1 }, { maxTries: 2 }, ['RETRY_CLAMPED maxTries']],
    [{ maxTries: 3.9 }, { maxTries: 3 }, []],
    [{ maxTries: 'x' }, {}, ['RETRY_CLAMPED maxTries']],
    [{ waitBetweenTriesMs: 9000 }, { waitMs: 5000, maxWaitMs: 5000 }, ['RETRY_CLAMPED waitBetweenTriesMs']],
    [{ backoffCoefficient: 2 }, { backoff: 2, maxWaitMs: 60_000 }, []],
    [
      { backoffCoefficient: 2, maxWaitMs: 5000, jitter: 0.5 },
      { backoff: 2, maxWaitMs: 5000, jitter: 0.5 },
      [],
    ],
    [{ jitter: 3 }, { jitter: 1 }, ['RETRY_CLAMPED jitter']],
  ])('%j has defaults, and values outside their range are clamped', (retry, expected, codes) => {
    expect(policyOf({ enabled: true, ...(retry as object) })).toEqual([{ ...DEFAULTS, ...expected }, codes]);
  });

  it('has wider ranges in a workflow written for Heddle', () => {
    const [policy, codes] = policyOf({ enabled: true, maxTries: 50, waitBetweenTriesMs: 600_000 }, 'heddle');
    expect(policy).toMatchObject({ maxTries: 50, waitMs: 600_000 });
    expect(codes).toEqual([]);
  });

  it.each([['loop'], ['parallel'], ['human_in_the_loop'], ['schedule'], ['start_trigger']])(
    'does not apply to %s',
    (type) => {
      expect(policyOf({ enabled: true }, 'import', type)).toEqual([undefined, ['RETRY_IGNORED retry']]);
    },
  );
});

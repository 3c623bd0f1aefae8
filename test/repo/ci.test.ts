import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repository } from './sources.ts';

const REPORT = 'node_modules/.cache/heddle-test/report.json';

const green = {
  success: true,
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
};

describe('.ci/run', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-ci-'));
    mkdirSync(join(folder, '.ci'));
    cpSync(join(repository, '.ci/run'), join(folder, '.ci/run'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns the exit code and last line of .ci/run, with an `npm test` that writes `report` and exits with `status`. */
  function run(
    report: object | undefined,
    status: number,
  ): { code: number | null; last: string | undefined } {
    const left = join(folder, 'left.json');
    if (report) writeFileSync(left, JSON.stringify(report));
    const body = `[ "$1" = test ] || exit 0\nmkdir -p "${dirname(REPORT)}"\ncp "${left}" ${REPORT}\nexit ${status}`;
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, 'npm'), 0o755);
    const env = { ...process.env, PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}` };
    const result = spawnSync(join(folder, '.ci/run'), { encoding: 'utf8', env });
    return { code: result.status, last: result.stdout.trim().split('\n').at(-1) };
  }

  it.each([
    [{}, 'bubblewrap,chromium,nginx,schemathesis,openapi-documents,versitygw 1'],
    [{ HEDDLE_REQUIRE: '', HEDDLE_REQUIRE_TEMPORAL: '0' }, ' 0'],
  ])(
    'makes missing tools and servers a failure of the tests, unless the environment is %o',
    (given, required) => {
      const seen = join(folder, 'seen');
      const { HEDDLE_REQUIRE: _tools, HEDDLE_REQUIRE_TEMPORAL: _server, ...others } = process.env;
      const body = `printf %s "$HEDDLE_REQUIRE $HEDDLE_REQUIRE_TEMPORAL" > ${seen}`;
      writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
      const env = {
        ...others,
        ...given,
        PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}`,
      };
      spawnSync(join(folder, '.ci/run'), { env });
      expect(readFileSync(seen, 'utf8')).toBe(required);
    },
  );

  it('ends with the numbers of the tests', () => {
    expect(run(green, 0)).toEqual({ code: 0, last: '3 passed, 0 failed, 1 skipped' });
  });

  it('keeps the exit code of the tests', () => {
    expect(run({ ...green, success: false, numFailedTests: 2 }, 7)).toEqual({
      code: 7,
      last: '3 passed, 2 failed, 1 skipped',
    });
  });

  it('counts a file that failed outside of its tests', () => {
    const testResults = [{ status: 'failed', assertionResults: [] }];
    expect(run({ ...green, success: false, testResults }, 1).last).toBe('3 passed, 1 failed, 1 skipped');
  });

  it('fails if there is no report, even if the tests succeeded', () => {
    expect(run(undefined, 0)).toEqual({ code: 1, last: '0 passed, 1 failed, 0 skipped' });
  });

  it('does not read the report of an earlier run', () => {
    mkdirSync(join(folder, dirname(REPORT)), { recursive: true });
    writeFileSync(join(folder, REPORT), JSON.stringify(green));
    expect(run(undefined, 0).code).toBe(1);
  });

  it('fails if no test ran', () => {
    expect(run({ ...green, numPassedTests: 0 }, 0)).toEqual({
      code: 1,
      last: '0 passed, 1 failed, 1 skipped',
    });
  });
});
